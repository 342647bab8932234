import type { Queryable } from "../sql/connections.ts";

/** The dialect's `tableExists`. Says so too of a table that this user may not read, but not of one past its search path. */
export async function tableExists(database: Queryable, table: string): Promise<boolean> {
  const [row] = await database.query<{ oid: string | null }>("SELECT to_regclass($1)::text AS oid", [table]);
  return row?.oid != null;
}
