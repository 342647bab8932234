import { readableByAll, readTextFile } from "../adapters/host/files.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { shellQuoted } from "../core/text/printable.ts";
import type { Observe, Warning } from "../ports/observer.ts";
import type { Host } from "./host.ts";

/** Throws a SyncError with a CONFIG_… code if the file is missing or wrong. */
export const readConfig = (path: string, host: Host, observe: Observe): Config =>
  loadConfig(path, { env: host.env, readFile: readTextFile }, () =>
    warnOfReadable(path, host, (warning) => observe({ kind: "warning", ...warning })),
  );

/** Warns if everybody on this machine can read a config file that has secrets in it. */
export function warnOfReadable(
  path: string,
  { uid }: Host,
  warn: (warning: Omit<Warning, "kind">) => void,
): void {
  const file = readableByAll(path);
  if (file) warn(readableSecrets(path, file, uid));
}

/** The warning for a config file that everybody can read. `uid` is the user of this process. */
export function readableSecrets(
  path: string,
  file: { readonly mode: number; readonly uid: number },
  uid: number,
): Omit<Warning, "kind"> {
  const mode = file.mode.toString(8).padStart(4, "0");
  // After chmod 600 only the owner and root can read the file. So this user has to become its owner.
  const chown = uid === 0 || file.uid === uid ? "" : `chown ${uid} ${shellQuoted(path)} && `;
  return {
    code: "SECRETS_READABLE",
    message: `everybody on this machine can read ${path} (mode ${mode}), and secrets stand in it`,
    hint: `write \${NAME} or \${file:/path} in their place; or ${chown}chmod 600 ${shellQuoted(path)}`,
  };
}
