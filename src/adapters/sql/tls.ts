import { readFileSync } from "node:fs";
import { readTls, type TlsDialect, type TlsFiles, type Verification } from "../../core/database-tls.ts";
import { SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { readTlsFiles } from "../../core/tls-files.ts";

/** What a driver has to know, with the files' contents. */
export type TlsSettings =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly verify: Verification; readonly pem: TlsFiles };

/**
 * What a database url says of TLS. Throws SyncError `CONFIG_TLS` if it leaves open whether another host is talked to in
 * clear, says something wrong, or names a file that isn't good.
 */
export function tlsSettings(dialect: TlsDialect, url: Secret): TlsSettings {
  const { tls, problems } = readTls(dialect, url.reveal());
  refuse(problems);
  if (tls.kind === "off") return tls;
  const { contents, problems: inFiles } = readTlsFiles(dialect, tls.files, (path) =>
    readFileSync(path, "utf8"),
  );
  refuse(inFiles);
  return { kind: "on", verify: tls.verify, pem: contents };
}

/** The config has been checked: this is about a file that has changed since. */
function refuse([problem]: readonly string[]): void {
  if (problem !== undefined) throw new SyncError("CONFIG_TLS", problem);
}
