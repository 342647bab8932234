import { shellQuoted } from "./shell-quoted.ts";

export interface ReadableSecrets {
  readonly code: "SECRETS_READABLE";
  readonly message: string;
  readonly hint: string;
}

/** A warning of a config file that everybody can read, and whose `keys` hold secrets. `uid` is the user of this process. */
export function readableSecrets(
  path: string,
  file: { readonly mode: number; readonly uid: number },
  keys: readonly string[],
  uid: number,
): ReadableSecrets {
  const mode = file.mode.toString(8).padStart(4, "0");
  // Whom the file doesn't belong to couldn't read it any more. Root can.
  const chown = uid === 0 || file.uid === uid ? "" : `chown ${uid} ${shellQuoted(path)} && `;
  return {
    code: "SECRETS_READABLE",
    message: `everybody on this machine can read ${path} (mode ${mode}), which holds secrets: ${keys.join(", ")}`,
    hint: `write \${NAME} or \${file:/path} in their place; or ${chown}chmod 600 ${shellQuoted(path)}`,
  };
}
