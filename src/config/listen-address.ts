import { SyncError } from "../core/failure/sync-error.ts";

/** Where the daemon's HTTP server listens; `off` if it has none. */
export type ListenAddress = "off" | { readonly host: string; readonly port: number };

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
