import type { Connections } from "../sql/connections.ts";

/** The dialect's `tableExists`. Says so too of a table that this user may not read, but not of one past its search path. */
export async function tableExists({ byRolesPath }: Connections, table: string): Promise<boolean> {
  const [row] = await byRolesPath.query<{ isThere: boolean }>(
    'SELECT pg_catalog.to_regclass($1) IS NOT NULL AS "isThere"',
    [table],
  );
  return row?.isThere ?? false;
}
