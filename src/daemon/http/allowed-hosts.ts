import { isIP } from "node:net";

/**
 * Whether a request with this Host header may see a page that names tenants. It protects against DNS rebinding: a web
 * site can point its own host name at this machine's address and let a visitor's browser read the pages here. The
 * browser then sends the site's name as the Host. It can't send `localhost`, an IP address, or a name that the operator
 * allows.
 */
export function isAllowedHost(header: string | undefined, allowed: readonly string[]): boolean {
  const host = hostOf(header ?? "");
  return host === "localhost" || isIP(host) !== 0 || allowed.some((name) => name.toLowerCase() === host);
}

/**
 * Whether a request may do something, by its Origin header. A browser adds one to each POST, and other clients need
 * none. Only a page of this server itself may send one: a page of another site makes a visitor's browser send it too.
 */
export function isOfThisHost(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

/** The host without port, final dot, and the brackets of an IPv6 address. */
function hostOf(header: string): string {
  const [, ipv6, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+?)\.?)(?::\d*)?$/i.exec(header) ?? [];
  return (ipv6 ?? name ?? "").toLowerCase();
}
