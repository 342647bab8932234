import { partsOf } from "../sql/names.ts";
import { OWNERS_TABLE, type TokenOwnerStatements } from "../sql/token-owner-statements.ts";
import { isDenied } from "./failures.ts";
import { TABLE_OPTIONS } from "./ledger-migrations.ts";
import { ansiNames, names } from "./names.ts";
import { currentAccount } from "./rights.ts";

interface PlaceColumns {
  readonly schema: string;
  readonly table: string;
  readonly column: string;
}

export const tokenOwners: TokenOwnerStatements = {
  async tokenTablePlace(database, { table, tokenColumn }) {
    const parts = partsOf(table);
    const [named, written] = [parts.at(-2) ?? null, parts.at(-1) ?? ""];
    const found = await database.query<PlaceColumns>(
      `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table", COLUMN_NAME AS "column"
       FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = coalesce($1, database()) AND TABLE_NAME = $2 AND LOWER(COLUMN_NAME) = LOWER($3)`,
      [named, written, tokenColumn],
    );
    const place = found.find((row) => row.table === written) ?? found[0];
    if (place) return { ...place, owners: ownersIn(place.schema) };
    // It isn't there yet, or hidden from this user.
    const [server] = await database.query<{ schema: string | null; folds: boolean }>(
      'SELECT coalesce($1, database()) AS "schema", @@lower_case_table_names = 1 AS folds',
      [named],
    );
    if (!server || server.schema === null) return undefined;
    return {
      table: Number(server.folds) === 1 ? written.toLowerCase() : written,
      column: tokenColumn,
      owners: ownersIn(server.schema),
    };
  },
  async foldsCase(database) {
    const [server] = await database.query<{ folds: boolean }>(
      "SELECT @@lower_case_table_names <> 0 AS folds",
    );
    return Number(server?.folds) === 1;
  },
  ownerTypes: { name: "VARCHAR(64)", text: "TEXT", end: ` ${TABLE_OPTIONS}` },
  createOnce: async (database, statement) => {
    await database.query(statement);
  },
  grantee: async (database) => (await currentAccount(database)).quoted,
  isDenied,
};

const ownersIn = (schema: string) => ({
  quoted: `${ansiNames.quoteName(schema)}.${ansiNames.quoteName(OWNERS_TABLE)}`,
  shown: `${names.quoteName(schema)}.${names.quoteName(OWNERS_TABLE)}`,
});
