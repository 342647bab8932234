import type { Queryable } from "../../sql/connection/connections.ts";

const SETTING = "'log_parameter_max_length_on_error'";
const VALUE = `pg_catalog.current_setting(${SETTING})`;

/** Keeps parameters, which may be tokens, out of what the server logs about errors in the rest of this transaction. */
export const UNLOGGED = `SELECT CASE WHEN ${VALUE} <> '0' THEN pg_catalog.set_config(${SETTING}, '0', true) END`;

/** Whether the server logs the parameters of a statement that fails, unless the transaction has run UNLOGGED. */
export async function logsParameters(database: Queryable): Promise<boolean> {
  const [row] = await database.query<{ value: string }>(`SELECT ${VALUE} AS value`);
  return row?.value !== "0";
}
