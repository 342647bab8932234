import type { DurabilityRisk } from "../../ports/durability.ts";
import type { Queryable } from "../sql/connections.ts";

/**
 * Has the transaction's commit wait until it is on the server's disk where it would not wait for anything: a crash takes
 * back a commit that is only in memory. Every other value of the setting is the administrator's choice. A SELECT list's
 * expression, for a statement that is a transaction of its own.
 */
export const RAISED = `CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'
    THEN pg_catalog.set_config('synchronous_commit', 'local', true) END`;

/** Opens a transaction whose commit a crash of the server doesn't take back. */
export const DURABLY = ["BEGIN", `SELECT ${RAISED}`] as const;

/** Without them a crash of the machine may take anything back. */
export async function durabilityRisks(database: Queryable): Promise<readonly DurabilityRisk[]> {
  const rows = await database.query<{ name: string }>(
    `SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes']) AS name WHERE current_setting(name) = 'off'`,
  );
  return rows.map(({ name }) => ({ setting: `${name} = off`, safe: `${name} = on` }));
}
