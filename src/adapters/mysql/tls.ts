import { connect, isIP } from "node:net";
import type { ConnectionOptions } from "mysql2";
import type { Secret } from "../../core/secret.ts";
import { tlsSettings } from "../sql/tls.ts";

/** Where the server is, by name or by address, IPv6 without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * The options that take the driver to a server, with TLS as the url asks for it.
 * Throws SyncError `CONFIG_TLS` where what it says of TLS can't be done.
 */
export function endpointOptions(url: Secret, endpoint: Endpoint): ConnectionOptions {
  const tls = tlsSettings("mysql", url);
  if (tls.kind === "off") return { ...endpoint };
  const ssl = {
    ...tls.pem,
    rejectUnauthorized: tls.verify !== "none",
    verifyIdentity: tls.verify === "full",
  };
  return isIP(endpoint.host) !== 0 && ssl.verifyIdentity
    ? { ...verifiedAddress(endpoint), ssl }
    : { ...endpoint, ssl };
}

/**
 * The driver names no host to Node.js where that is an IP address, which then expects a certificate for "localhost".
 * With a dot behind it, it is a name to the driver, and the same address where the certificate is compared.
 */
function verifiedAddress({ host, port }: Endpoint): ConnectionOptions {
  return {
    host: `${host}.`,
    port,
    stream: () => connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }),
  };
}
