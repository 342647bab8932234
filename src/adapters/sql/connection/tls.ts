import { readFileSync } from "node:fs";
import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import {
  readTls,
  readTlsFiles,
  type TlsDialect,
  type TlsFiles,
  type Verification,
} from "../../../core/tls/database-tls.ts";

/** The TLS settings for a driver, with the contents of the files. */
export type TlsSettings =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly verify: Verification; readonly pem: TlsFiles };

/**
 * The TLS settings of a database url. Throws CONFIG_TLS if the url doesn't say whether a connection to another host is
 * encrypted, has a wrong setting, or names a bad file.
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

/** The config has been checked before: only a file can have changed since. */
function refuse([problem]: readonly string[]): void {
  if (problem !== undefined) throw new SyncError("CONFIG_TLS", problem);
}
