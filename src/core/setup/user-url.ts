import { type TlsDialect, tlsParameters } from "../tls/database-tls.ts";

/**
 * The url by which a user reaches a database of the server in `url`. It keeps host, port and TLS, and nothing else: what
 * else is there may be a secret. `user` stands in it as it is, with or without a password.
 */
export function userUrl(dialect: TlsDialect, url: string, user: string, database: string): string {
  const { protocol, host, searchParams } = new URL(url);
  const kept = dialect === "postgres" ? ["host", "port", ...tlsParameters(dialect)] : tlsParameters(dialect);
  const query = [...searchParams]
    .filter(([name]) => kept.includes(name))
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2F", "/")}`);
  const parameters = query.length > 0 ? `?${query.join("&")}` : "";
  return `${protocol}//${user}@${host || "localhost"}/${encodeURIComponent(database)}${parameters}`;
}
