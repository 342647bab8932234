/** Where the daemon's HTTP server listens; `off` where there is to be none. */
export type ListenAddress = "off" | { readonly host: string; readonly port: number };

/** Where neither the config nor `GROUPSYNC_HTTP_LISTEN` says otherwise: this machine alone. */
export const LOCAL: ListenAddress = { host: "127.0.0.1", port: 8080 };

/** `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `off`; undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text === "off") return "off";
  const [, ipv6, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}
