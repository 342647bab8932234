import type { ConnectionOptions } from "mysql2";
import type { Secret } from "../../core/secret.ts";
import { endpointOptions } from "./tls.ts";

const DEFAULT_PORT = 3306;

/**
 * How every connection is made. Of the url's parameters the driver sees none: it would take any of its own options
 * from there. Throws SyncError `CONFIG_TLS` where what the url says of TLS can't be done.
 */
export function connectionOptions(url: Secret, applicationName: string): ConnectionOptions {
  const { hostname, port, username, password, pathname } = new URL(url.reveal());
  const database = decodeURIComponent(pathname.slice(1));
  return {
    ...endpointOptions(url, {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? DEFAULT_PORT : Number(port),
    }),
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
    // In performance_schema.session_connect_attrs.
    connectAttributes: { program_name: applicationName },
  };
}
