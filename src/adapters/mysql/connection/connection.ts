import { connect, isIP, Socket } from "node:net";
import type { Connection, ConnectionOptions } from "mysql2";
import type { Secret } from "../../../core/secret/secret.ts";
import { type TlsSettings, tlsSettings } from "../../sql/connection/tls.ts";
import { FAREWELL, withTimeout } from "../../sql/connection/wait-limits.ts";

const DEFAULT_PORT = 3306;

/**
 * The options of every connection. The driver doesn't see the url's parameters, because it would take its own options
 * from them. Throws SyncError `CONFIG_TLS` if the url asks for TLS that can't be had.
 */
export function connectionOptions(url: Secret, applicationName: string): ConnectionOptions {
  const { hostname, port, username, password, pathname } = new URL(url.reveal());
  const database = decodeURIComponent(pathname.slice(1));
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    ...endpointOptions(tlsSettings("mysql", url), host, port === "" ? DEFAULT_PORT : Number(port)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    ...(database !== "" && { database }),
    charset: "utf8mb4",
    connectTimeout: 10_000,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000,
    multipleStatements: false,
    // IGNORE_SPACE makes the names of functions reserved words; LOCAL_FILES lets the server ask for files of this host.
    flags: ["-IGNORE_SPACE", "-LOCAL_FILES"],
    // The server shows this in performance_schema.session_connect_attrs.
    connectAttributes: { program_name: applicationName },
  };
}

function endpointOptions(tls: TlsSettings, host: string, port: number): ConnectionOptions {
  if (tls.kind === "off") return { host, port };
  const verifyIdentity = tls.verify === "full";
  const ssl = { ...tls.pem, rejectUnauthorized: tls.verify !== "none", verifyIdentity };
  if (isIP(host) === 0 || !verifyIdentity) return { host, port, ssl };
  // If the host is an IP address, the driver gives Node.js no host, and Node.js then expects a certificate for "localhost".
  // The driver takes an address with a dot at its end for a name. Node.js ignores the dot when it compares the certificate.
  const stream = () => connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 });
  return { host: `${host}.`, port, ssl, stream };
}

/** Ends the connection at once. The driver alone would close its own half and go on receiving. */
export function cutOff(connection: Connection): void {
  connection.destroy();
  socketOf(connection)?.destroy();
}

export const socketOf = (connection: Connection): Socket | undefined =>
  "stream" in connection && connection.stream instanceof Socket ? connection.stream : undefined;

/**
 * Closes connections politely, because the server counts and logs the others as aborted. Cuts off the connections that
 * are still open after `FAREWELL`. Never rejects.
 */
export async function endInTime(ended: Promise<void>, connections: Iterable<Connection>): Promise<void> {
  await withTimeout(FAREWELL, ended).catch(() => {});
  for (const connection of connections) cutOff(connection);
}
