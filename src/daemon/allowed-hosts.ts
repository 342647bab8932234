import { isIP } from "node:net";

/**
 * Whether a page that names tenants may be shown to a request with this Host header. A web page elsewhere can give its
 * own name this machine's address and have a visitor's browser read what is here (DNS rebinding): it can't choose
 * `localhost`, an IP address, or a name that the operator has chosen.
 */
export function isAllowedHost(header: string | undefined, allowed: readonly string[]): boolean {
  const host = hostOf(header ?? "");
  return host === "localhost" || isIP(host) !== 0 || allowed.some((name) => name.toLowerCase() === host);
}

/** Without its port, a dot at its end, and the brackets of an IPv6 address. */
function hostOf(header: string): string {
  const [, ipv6, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+?)\.?)(?::\d*)?$/i.exec(header) ?? [];
  return (ipv6 ?? name ?? "").toLowerCase();
}
