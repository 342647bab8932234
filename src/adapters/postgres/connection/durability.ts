import type { DurabilityRisk } from "../../../ports/ledger/ledger.ts";
import type { Connections, Queryable } from "../../sql/connection/connections.ts";
import { isAnswer } from "./failures.ts";
import { BEGIN } from "./settings.ts";

/**
 * An expression for a SELECT list. Makes the transaction's commit wait for the server's disk if `synchronous_commit` is
 * off: a crash of the server undoes a commit that is only in memory. Leaves every other value as the administrator
 * chose it.
 */
export const RAISED = `CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'
    THEN pg_catalog.set_config('synchronous_commit', 'local', true) END`;

/** Opens a transaction whose commit survives a crash of the server. */
export const DURABLY = [BEGIN, `SELECT ${RAISED}`] as const;

/** If fsync or full_page_writes is off, a crash of the machine may undo any commit. */
export async function durabilityRisks(database: Queryable): Promise<readonly DurabilityRisk[]> {
  const rows = await database.query<{ name: string }>(
    `SELECT s.name FROM unnest(ARRAY['fsync', 'full_page_writes']) AS s (name)
     WHERE current_setting(s.name) = 'off'`,
  );
  return rows.map(({ name }) => ({ setting: `${name} = off`, safe: `${name} = on` }));
}

/**
 * The database system and its timeline, which ends with each failover. The name of a WAL file has the timeline; the control data
 * would show the former one until the next checkpoint. Null if this role may not ask.
 */
export async function serverIdentity(database: Connections): Promise<string | null> {
  // As a write, because a balancer sends reads to standbys, too.
  const [row] = await database
    .write<{ id: string }>(
      `SELECT system_identifier || ' ' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS id
       FROM pg_control_system()`,
    )
    .catch((error: unknown) => {
      if (!isAnswer(error)) throw error;
      return [];
    });
  return row?.id ?? null;
}
