import { shellQuoted } from "../text/printable.ts";

export interface ReadableSecrets {
  readonly code: "SECRETS_READABLE";
  readonly message: string;
  readonly hint: string;
}

/** The warning for a config file that everybody can read. `keys` hold its secrets; `uid` is the user of this process. */
export function readableSecrets(
  path: string,
  file: { readonly mode: number; readonly uid: number },
  keys: readonly string[],
  uid: number,
): ReadableSecrets {
  const mode = file.mode.toString(8).padStart(4, "0");
  // After chmod 600 only the owner and root can read the file. So this user has to become its owner.
  const chown = uid === 0 || file.uid === uid ? "" : `chown ${uid} ${shellQuoted(path)} && `;
  return {
    code: "SECRETS_READABLE",
    message: `everybody on this machine can read ${path} (mode ${mode}), which holds secrets: ${keys.join(", ")}`,
    hint: `write \${NAME} or \${file:/path} in their place; or ${chown}chmod 600 ${shellQuoted(path)}`,
  };
}
