import type { TablePlaces } from "../sql/table-place.ts";

export const tablePlace: TablePlaces["tablePlace"] = async (database, { schema: named, table }) => {
  const [server] = await database.query<{ schema: string | null; names: string | number }>(
    'SELECT coalesce($1, database()) AS "schema", @@lower_case_table_names AS "names"',
    [named ?? null],
  );
  if (!server || server.schema === null) return undefined;
  const { schema } = server;
  // information_schema takes small letters and capitals for the same also on a server that tells them apart.
  const foldsCase = Number(server.names) !== 0;
  const found = foldsCase
    ? await database.query<{ schema: string; table: string }>(
        `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table" FROM information_schema.TABLES
         WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2`,
        [schema, table],
      )
    : [];
  // Without a right to it, the table can't be seen.
  const place = found[0] ?? { schema, table: Number(server.names) === 1 ? table.toLowerCase() : table };
  return { ...place, owner: null, isOurs: false };
};
