import { connect, isIP } from "node:net";
import type { ConnectionOptions } from "mysql2";
import type { Secret } from "../../../core/secret/secret.ts";
import { tlsSettings } from "../../sql/connection/tls.ts";

interface Endpoint {
  /** A name or an address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** The options for a connection to the server, with TLS as the url asks for. Throws CONFIG_TLS if it can't be had. */
export function endpointOptions(url: Secret, endpoint: Endpoint): ConnectionOptions {
  const tls = tlsSettings("mysql", url);
  if (tls.kind === "off") return endpoint;
  const ssl = {
    ...tls.pem,
    rejectUnauthorized: tls.verify !== "none",
    verifyIdentity: tls.verify === "full",
  };
  const isVerifiedAddress = isIP(endpoint.host) !== 0 && ssl.verifyIdentity;
  return { ...(isVerifiedAddress ? verifiedAddress(endpoint) : endpoint), ssl };
}

/**
 * If the host is an IP address, the driver gives Node.js no host, and Node.js then expects a certificate for "localhost".
 * The driver takes an address with a dot at its end for a name. Node.js ignores the dot when it compares the certificate.
 */
const verifiedAddress = ({ host, port }: Endpoint): ConnectionOptions => ({
  host: `${host}.`,
  port,
  stream: () => connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }),
});
