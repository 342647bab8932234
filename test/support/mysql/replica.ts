import type { EmbeddedServer } from "../servers/embedded-server.ts";
import { startMariadb } from "./embedded-mariadb.ts";
import { mysqlServer } from "./mysql-server.ts";

/** A MariaDB whose changes a replica can follow. */
export async function startPrimary(): Promise<EmbeddedServer> {
  const server = await startMariadb({ settings: { log_bin: "log", server_id: "1", binlog_format: "ROW" } });
  // A replica has what the bootstrap has made.
  await told(server.url, "RESET MASTER");
  return server;
}

/**
 * Starts an asynchronous replica of a primary that `startPrimary` has just started. It listens on another address and on the same
 * port, as on a host of its own. `from` is the primary's url, perhaps by way of a proxy.
 */
export async function startReplica(primary: EmbeddedServer, from: string): Promise<EmbeddedServer> {
  const { password: same } = new URL(primary.url);
  const settings = { bind_address: "127.0.0.2", port: String(primary.port), server_id: "2" };
  const replica = await startMariadb({ password: same, settings });
  const url = Object.assign(new URL(replica.url), { hostname: "127.0.0.2", port: primary.port }).href;
  const { hostname, port, username, password } = new URL(from);
  await told(
    url,
    `CHANGE MASTER TO master_host = '${hostname}', master_port = ${port}, master_user = '${username}',
       master_password = '${password}', master_use_gtid = slave_pos; START SLAVE`,
  );
  return { ...replica, url, port: primary.port };
}

/** The replica follows nobody any more. */
export const promote = (url: string): Promise<void> => told(url, "STOP SLAVE; RESET SLAVE ALL");

async function told(url: string, statements: string): Promise<void> {
  const { query, end } = mysqlServer.connect(url);
  await query(statements).finally(end);
}
