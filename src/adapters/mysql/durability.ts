import type { DurabilityRisk } from "../../ports/durability.ts";
import type { Queryable } from "../sql/connections.ts";

/** Only 1 has each commit wait for the disk; and a replica, or a restored backup, is made of what is in the binary log. */
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
