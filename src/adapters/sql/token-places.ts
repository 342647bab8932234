import type { Database } from "./database.ts";
import type { LedgerPlace } from "./ledger-place.ts";
import type { LedgerTables } from "./ledger-tables.ts";

export async function tokenPlaces(
  database: Database,
  tables: LedgerTables,
  scope: string,
): Promise<readonly string[] | null> {
  const [row] = await database.query<{ places: string }>(
    `SELECT places FROM ${tables.tokenPlaces} WHERE scope = $1`,
    [scope],
  );
  return row ? (JSON.parse(row.places) as string[]) : null;
}

export async function recordTokenPlaces(
  { connection, dialect, tables, scope }: LedgerPlace,
  places: readonly string[] | null,
): Promise<void> {
  if (places === null) {
    await connection.query(`DELETE FROM ${tables.tokenPlaces} WHERE scope = $1`, [scope]);
    return;
  }
  await connection.query(
    dialect.upsert({
      into: tables.tokenPlaces,
      columns: ["scope", "places"],
      from: "VALUES ($1, $2)",
      key: ["scope"],
      set: (is) => ({ places: is("places") }),
    }),
    [scope, JSON.stringify(places)],
  );
}
