import { Socket } from "node:net";
import type { Connection, ConnectionOptions } from "mysql2";
import type { Secret } from "../../../core/secret/secret.ts";
import { withTimeout } from "../../sql/connection/wait-limits.ts";
import { endpointOptions } from "./tls.ts";

const DEFAULT_PORT = 3306;

/**
 * The options of every connection. The driver doesn't see the url's parameters, because it would take its own options
 * from them. Throws SyncError `CONFIG_TLS` if the url asks for TLS that can't be had.
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
    // The server shows this in performance_schema.session_connect_attrs.
    connectAttributes: { program_name: applicationName },
  };
}

/** How long the driver may take to close connections politely, in milliseconds. */
const FAREWELL = 5_000;

/** Ends the connection at once. The driver alone would close its own half and go on receiving. */
export function cutOff(connection: Connection): void {
  connection.destroy();
  if ("stream" in connection && connection.stream instanceof Socket) connection.stream.destroy();
}

/**
 * Closes connections politely, because the server counts and logs the others as aborted. Cuts off the connections that
 * are still open after `FAREWELL`. Never rejects.
 */
export async function endInTime(ended: Promise<void>, connections: Iterable<Connection>): Promise<void> {
  await withTimeout(FAREWELL, ended).catch(() => {});
  for (const connection of connections) cutOff(connection);
}

/**
 * Settings of every session, whatever the server's settings and its `init_connect` say. A server may use another
 * character set than the connection asked for. A `sql_select_limit` would look like the end of the rows. MariaDB alone,
 * which reads the comment, has limits for idle transactions beside `wait_timeout`.
 */
export const EVERY_SESSION = `
  character_set_client = utf8mb4, character_set_connection = utf8mb4, character_set_results = utf8mb4,
  time_zone = '+00:00',
  sql_select_limit = 18446744073709551615, sql_big_selects = 1
  /*M!, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0 */`;

/** Opens a transaction that reads the data of one point in time, in a session whose transactions are REPEATABLE READ. */
export const BEGIN_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/** Opens a transaction that reads the data of one point in time. */
export const SNAPSHOT = ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", BEGIN_SNAPSHOT] as const;
