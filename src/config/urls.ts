import { closestMatch } from "leven";
import { SyncError } from "../core/failure/sync-error.ts";
import { Secret } from "../core/secret/secret.ts";
import { readTls, tlsParameters } from "../core/tls/database-tls.ts";

/** The whole url is secret, because it may hold a password. */
export interface DatabaseUrl {
  readonly dialect: "postgres" | "mysql";
  readonly url: Secret;
}

/**
 * Undefined for text that no driver can use as a url. Also for a url with an `@` behind the host: a password with an
 * unescaped `/`, `?` or `#` leaves the `@` there, and parts of the password would pass for host and database.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl | undefined {
  const [, scheme, behind = ""] = /^(postgres|postgresql|mysql|mariadb):\/\/[^/?#]*(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || !URL.canParse(text) || !isPercentEncoded(text)) return undefined;
  if (behind.includes("@")) return undefined;
  return { dialect: scheme.startsWith("postgres") ? "postgres" : "mysql", url: new Secret(text) };
}

/** What is wrong with a url's parameters for TLS. A misspelt parameter must not end in a connection without TLS. */
export function* tlsProblems({ dialect, url }: DatabaseUrl): Generator<string> {
  const known = tlsParameters(dialect);
  for (const name of new Set(new URL(url.reveal()).searchParams.keys())) {
    if (known.includes(name)) continue;
    const close = closestMatch(name.toLowerCase(), known, { maxDistance: 2 });
    if (close === undefined && !/ssl|tls/i.test(name)) continue;
    const right = close === undefined ? `those for TLS are ${known.join(", ")}` : `did you mean ${close}?`;
    yield `the url's parameter ${name.slice(0, 24)} means nothing here; ${right}`;
  }
  yield* readTls(dialect, url.reveal()).problems;
}

/**
 * The address to which `/api/user` is added, without a slash at its end. Undefined for an address with a user, a
 * password or a query, because the address goes into the log and the ledger.
 */
export function parseBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const bare = `${url.username}${url.password}${url.search}${url.hash}` === "";
  const path = url.pathname.replace(/\/+$/, "");
  if (!/^https?:$/.test(url.protocol) || !bare || path.endsWith("/api/user")) return undefined;
  return url.origin + path;
}

/** The address of a page that gets messages. The whole address is secret, because it may hold a key. */
export function parseWebUrl(text: string): Secret | undefined {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new Secret(text) : undefined;
}

/** A stray `%` in a password would fail only when the driver connects, without a reason in the error. */
function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Where the daemon's HTTP server listens; `off` if it has none. */
type ListenAddress = "off" | { readonly host: string; readonly port: number };

/** `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `off`; undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text === "off") return "off";
  const [, ipv6, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

const LOCAL: ListenAddress = { host: "127.0.0.1", port: 8080 };

/**
 * The address if the config has none: that of `GROUPSYNC_HTTP_LISTEN`, which the container image sets, or port 8080 of
 * 127.0.0.1. Throws CONFIG_INVALID if the variable is no address.
 */
export function defaultListenAddress({
  GROUPSYNC_HTTP_LISTEN: text,
}: Readonly<Record<string, string | undefined>>): ListenAddress {
  if (!text) return LOCAL;
  const address = parseListenAddress(text);
  if (address) return address;
  throw new SyncError("CONFIG_INVALID", `GROUPSYNC_HTTP_LISTEN is "${text}"`, {
    hint: "write it like 127.0.0.1:8080, [::1]:8080, 0.0.0.0:8080 or off",
  });
}
