import type { DurabilityRisk } from "../../../ports/ledger/ledger.ts";
import type { Connections, Queryable } from "../../sql/connection/connections.ts";

/**
 * Only with the value 1 does each commit wait for the disk. The binary log counts too, if it is on: replicas and
 * restored backups have only what is in that log.
 */
export async function durabilityRisks(database: Queryable): Promise<readonly DurabilityRisk[]> {
  const [row] = await database.query<{ flush: unknown; sync: unknown; isLogged: unknown }>(
    `SELECT @@innodb_flush_log_at_trx_commit AS "flush", @@sync_binlog AS "sync", @@log_bin AS "isLogged"`,
  );
  const settings = [
    ["innodb_flush_log_at_trx_commit", Number(row?.flush)],
    ...(Number(row?.isLogged) === 1 ? [["sync_binlog", Number(row?.sync)] as const] : []),
  ] as const;
  return settings
    .filter(([, value]) => value !== 1)
    .map(([name, value]) => ({ setting: `${name} = ${value}`, safe: `${name} = 1` }));
}

/** Identifies a cluster in which every node has each commit. */
const CLUSTER = ["wsrep_cluster_state_uuid", "group_replication_group_name"];
/** Identifies a server. MariaDB's `server_uid` may be the same in two containers; `server_id` differs among replicas. */
const SERVER = ["server_uuid", "server_uid", "server_id"];
const NAMED = `WHERE variable_name IN (${[...CLUSTER, ...SERVER].map((name) => `'${name}'`).join(", ")})`;

/** Asks in a transaction that may write, because a balancer sends other reads to replicas, too. */
export const serverIdentity = (database: Pick<Connections, "transaction">): Promise<string> =>
  database.transaction(["START TRANSACTION READ WRITE"], async ({ query }) => {
    const found = new Map<string, string>();
    for (const what of ["VARIABLES", "STATUS"]) {
      const text = `SHOW GLOBAL ${what} ${NAMED}`;
      const rows = await query<{ Variable_name: string; Value: string }>(text);
      for (const { Variable_name, Value } of rows) found.set(Variable_name, Value);
    }
    const known = (names: readonly string[]): string[] => names.flatMap((name) => found.get(name) || []);
    return known(CLUSTER)[0] ?? known(SERVER).join(" ");
  });
