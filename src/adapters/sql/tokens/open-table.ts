import { nameOf } from "../connection/identifiers.ts";
import type { TablePlace } from "../connection/table-place.ts";
import type { Database } from "../dialect/database.ts";
import { insistOnOwner } from "../dialect/table-owner.ts";
import type { TokenStatements, TokenTableOptions } from "../dialect/token-statements.ts";
import type { MarkedTable } from "./token-table-owner.ts";

/** A token table that was found, or the place where it would be created. */
export interface OpenTable {
  readonly marked: MarkedTable | undefined;
  readonly statements: TokenStatements;
  /** Rejects with CONFIG_TABLE_OWNER unless the config trusts the owner of a table that has been created since. */
  insistIfNew(): Promise<void>;
}

export async function openTable(database: Database, options: TokenTableOptions): Promise<OpenTable> {
  const { dialect } = database;
  const place = await dialect.tablePlace(database.byRolesPath, nameOf(options.table));
  const insist = () => insistOnTableOwner(database, options, place);
  await insist();
  const wasThere = place !== undefined && place.owner !== null;
  return {
    marked: place && { ...place, column: await dialect.columnName(database, place, options.tokenColumn) },
    statements: dialect.tokenStatements({ ...options, place }),
    insistIfNew: async () => {
      if (!wasThere) await insist();
    },
  };
}

/** With `rows: existing`, the config names a table of the customer and thereby trusts its owner. */
async function insistOnTableOwner(
  database: Database,
  { rows, owner }: TokenTableOptions,
  place: TablePlace | undefined,
): Promise<void> {
  if (!place || rows === "existing") return;
  const tables = { schema: place.schema, tables: [place.table], trusted: owner === undefined ? [] : [owner] };
  await insistOnOwner(database, tables);
}
