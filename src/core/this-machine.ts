/** Four numbers and nothing else, so that no host name passes for an address. */
const LOOPBACK = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether what is sent to this host stays on this machine. A host is a name, an address or the path of a Unix socket. */
export const isThisMachine = (host: string): boolean =>
  host.startsWith("/") || LOOPBACK.test(host) || ["localhost", "::1", "[::1]"].includes(host.toLowerCase());

/** Whether everything that is sent there goes in clear to another machine. */
export const isPlainHttpElsewhere = ({ protocol, hostname }: Pick<URL, "protocol" | "hostname">): boolean =>
  protocol === "http:" && !isThisMachine(hostname);
