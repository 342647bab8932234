import { databaseHost, readTls, type TlsDialect } from "./database-tls.ts";
import { isLoopback } from "./loopback.ts";

/**
 * - `verified`: by TLS, and the server has shown that it is the right one.
 * - `unverified`: by TLS, with whoever answers.
 * - `clear`: without TLS, to another machine.
 * - `local`: without TLS, on this machine.
 */
export type ConnectionPrivacy = "verified" | "unverified" | "clear" | "local";

/** How what goes over the connection of a valid database url is kept from others. */
export function connectionPrivacy(dialect: TlsDialect, url: string): ConnectionPrivacy {
  const { tls } = readTls(dialect, url);
  if (tls.kind === "on") return tls.verify === "none" ? "unverified" : "verified";
  return isLoopback(databaseHost(dialect, url)) ? "local" : "clear";
}
