import type { DurabilityRisk } from "../../../ports/ledger/ledger.ts";
import type { Queryable } from "../../sql/connection/connections.ts";

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

/** What identifies the server: of a cluster in which every node has each commit, the cluster; else the server itself. */
const IDENTITIES = ["wsrep_cluster_state_uuid", "group_replication_group_name", "server_uuid", "server_uid"];

/** Null if this server, such as an older MariaDB, has no name of its own. */
export async function serverIdentity(database: Queryable): Promise<string | null> {
  const named = `WHERE variable_name IN (${IDENTITIES.map((name) => `'${name}'`).join(", ")})`;
  const found = new Map<string, string>();
  for (const what of ["VARIABLES", "STATUS"]) {
    const rows = await database.query<Variable>(`SHOW GLOBAL ${what} ${named}`);
    for (const { Variable_name, Value } of rows) found.set(Variable_name, Value);
  }
  return IDENTITIES.map((name) => found.get(name)).find((value) => value) ?? null;
}

interface Variable {
  readonly Variable_name: string;
  readonly Value: string;
}
