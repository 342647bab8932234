/** Four numbers and nothing else, because `127.0.0.1.example.com` is a host name. */
const LOOPBACK = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether data for this host stays on this machine. A host is a name, an address or the path of a Unix socket. */
export const isLoopback = (host: string): boolean =>
  host.startsWith("/") || LOOPBACK.test(host) || ["localhost", "::1", "[::1]"].includes(host.toLowerCase());

/** Whether data for this url leaves the machine without TLS. */
export const isPlainHttpToAnotherHost = ({
  protocol,
  hostname,
}: Pick<URL, "protocol" | "hostname">): boolean => protocol === "http:" && !isLoopback(hostname);
