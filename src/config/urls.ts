import { closestMatch } from "leven";
import { readTls, tlsParameters } from "../core/database-tls.ts";
import { Secret } from "../core/secret.ts";
import type { DatabaseUrl } from "./config.ts";

/**
 * Undefined for what a driver could not connect to, whatever the server behind it. Also for an `@` behind the host:
 * a password with a bare `/`, `?` or `#` in it leaves one there, and its parts would be taken for host and database.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl | undefined {
  const [, scheme, behind = ""] = /^(postgres|postgresql|mysql|mariadb):\/\/[^/?#]*(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || !URL.canParse(text) || !isPercentEncoded(text)) return undefined;
  if (behind.includes("@")) return undefined;
  return { dialect: scheme.startsWith("postgres") ? "postgres" : "mysql", url: new Secret(text) };
}

/** What is wrong with what a url says of TLS: a slip there must not end in a connection without it. */
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
 * The address that `/api/user` is added to, without a slash at its end.
 * It is logged and kept in the ledger, so one that carries a password is refused.
 */
export function parseBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const bare = `${url.username}${url.password}${url.search}${url.hash}` === "";
  const path = url.pathname.replace(/\/+$/, "");
  if (!/^https?:$/.test(url.protocol) || !bare || path.endsWith("/api/user")) return undefined;
  return url.origin + path;
}

/** Of a server that a message is sent to. All of it is secret: such addresses are keys themselves. */
export function parseWebUrl(text: string): Secret | undefined {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new Secret(text) : undefined;
}

/** The drivers decode a url while they connect, and a stray `%` in a password fails there with no word of why. */
function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
