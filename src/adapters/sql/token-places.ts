import type { TokenTable } from "../../core/token-tables.ts";
import type { Database } from "./database.ts";
import type { LedgerPlace } from "./ledger-place.ts";
import type { LedgerTables } from "./ledger-tables.ts";

export async function tokenPlaces(
  database: Database,
  tables: LedgerTables,
  scope: string,
): Promise<readonly string[] | null> {
  const [row] = await database.query<{ places: string | null }>(
    `SELECT places FROM ${tables.tokenPlaces} WHERE scope = $1`,
    [scope],
  );
  return row?.places == null ? null : (JSON.parse(row.places) as string[]);
}

export async function tokenTables(
  database: Database,
  tables: LedgerTables,
  scope: string,
): Promise<readonly TokenTable[]> {
  const [row] = await database.query<{ tables: string | null }>(
    `SELECT token_tables AS "tables" FROM ${tables.tokenPlaces} WHERE scope = $1`,
    [scope],
  );
  return row?.tables == null ? [] : (JSON.parse(row.tables) as TokenTable[]);
}

export const recordTokenPlaces = (place: LedgerPlace, places: readonly string[] | null): Promise<void> =>
  record(place, "places", places && JSON.stringify(places));

export const recordTokenTables = (place: LedgerPlace, tables: readonly TokenTable[]): Promise<void> =>
  record(place, "token_tables", JSON.stringify(tables));

async function record(
  { connection, dialect, tables, scope }: LedgerPlace,
  column: "places" | "token_tables",
  value: string | null,
): Promise<void> {
  await connection.query(
    dialect.upsert({
      into: tables.tokenPlaces,
      columns: ["scope", column],
      from: "VALUES ($1, $2)",
      key: ["scope"],
      set: (is) => ({ [column]: is(column) }),
    }),
    [scope, value],
  );
}
