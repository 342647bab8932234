import type { Queryable } from "../../sql/connection/connections.ts";
import type { TablePlace, TablePlaces } from "../../sql/connection/table-place.ts";
import { isMissingTable } from "./failures.ts";

export const tablePlace: TablePlaces["tablePlace"] = async (database, { schema: named, table }) => {
  const [server] = await database.query<{ schema: string | null; names: string | number }>(
    'SELECT coalesce($1, database()) AS "schema", @@lower_case_table_names AS "names"',
    [named ?? null],
  );
  if (!server || server.schema === null) return undefined;
  const { schema } = server;
  // Look the spelling up only if the server's table names ignore case: information_schema ignores it in any case.
  const foldsCase = Number(server.names) !== 0;
  const found = foldsCase
    ? await database.query<{ schema: string; table: string }>(
        `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table" FROM information_schema.TABLES
         WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2`,
        [schema, table],
      )
    : [];
  // information_schema shows only tables to which the user has a right: take the config's spelling for others.
  const place = found[0] ?? { schema, table: Number(server.names) === 1 ? table.toLowerCase() : table };
  return { ...place, owner: null, isOurs: false };
};

/** Names of columns ignore case. */
export async function columnName(
  database: Queryable,
  { schema, table }: TablePlace,
  written: string,
): Promise<string> {
  const [found] = await database.query<{ name: string }>(
    `SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2 AND LOWER(COLUMN_NAME) = LOWER($3)`,
    [schema, table, written],
  );
  // The column does not exist yet, or is hidden from this user.
  return found?.name ?? written;
}

/** The dialect's `tableExists`. Rejects if this user may not read the table or may not know whether it exists. */
export async function tableExists(database: Queryable, table: string): Promise<boolean> {
  try {
    await database.query(`SELECT 1 FROM ${table} WHERE FALSE`);
    return true;
  } catch (error) {
    if (isMissingTable(error)) return false;
    throw error;
  }
}
