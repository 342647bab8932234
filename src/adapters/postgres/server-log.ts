import type { Queryable } from "../sql/connections.ts";

/** From PostgreSQL 13 on; older ones log no parameters with an error. */
const SETTING = "'log_parameter_max_length_on_error'";
const VALUE = `pg_catalog.current_setting(${SETTING}, true)`;

/** Has the server log no parameters with an error of this transaction's later statements: tokens are among them. */
export const UNLOGGED = `SELECT CASE WHEN ${VALUE} <> '0' THEN pg_catalog.set_config(${SETTING}, '0', true) END`;

/** Whether the server logs parameters with an error, where no transaction has asked it not to. */
export async function logsParameters(database: Queryable): Promise<boolean> {
  const [row] = await database.query<{ value: string | null }>(`SELECT ${VALUE} AS value`);
  return (row?.value ?? "0") !== "0";
}
