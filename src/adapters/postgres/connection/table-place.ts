import type { Connections } from "../../sql/connection/connections.ts";
import { quotePlace, type TablePlaces } from "../../sql/connection/table-place.ts";
import { quoteName } from "./identifiers.ts";
import { BEGIN } from "./settings.ts";

export const tablePlace: TablePlaces["tablePlace"] = async (byRolesPath, { schema, table }) => {
  const name = schema === undefined ? quoteName(table) : quotePlace({ quoteName }, { schema, table });
  const [found] = await byRolesPath.query<{
    schema: string | null;
    table: string;
    owner: string | null;
    isOurs: boolean;
  }>(
    `SELECT coalesce(n.nspname::pg_catalog.text, $2::pg_catalog.text, pg_catalog.current_schema()::pg_catalog.text) AS schema,
       coalesce(c.relname::pg_catalog.text, $3::pg_catalog.text) AS "table",
       pg_catalog.pg_get_userbyid(c.relowner)::pg_catalog.text AS owner,
       coalesce(pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user, FALSE) AS "isOurs"
     FROM (SELECT pg_catalog.to_regclass($1) AS oid) AS found
     LEFT JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) found.oid
     LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace`,
    [name, schema ?? null, table],
  );
  return found && found.schema !== null ? { ...found, schema: found.schema } : undefined;
};

/** The dialect's `tableExists`. Finds tables that this user may not read, but no table outside of its search path. */
export async function tableExists({ byRolesPath }: Connections, table: string): Promise<boolean> {
  const [row] = await byRolesPath.query<{ isThere: boolean }>(
    'SELECT pg_catalog.to_regclass($1) IS NOT NULL AS "isThere"',
    [table],
  );
  return row?.isThere ?? false;
}

/** The dialect's `createTable`. IF NOT EXISTS alone lets two programs try at once, and one of them fails: locks first. */
export const createTable = (database: Connections, statement: string): Promise<void> =>
  database.transaction([BEGIN], async (connection) => {
    await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [statement]);
    await connection.query(statement);
  });
