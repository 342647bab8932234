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
