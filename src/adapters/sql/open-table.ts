import type { Database } from "./database.ts";
import { nameOf } from "./names.ts";
import { insistOnOwner } from "./table-owner.ts";
import type { TablePlace } from "./table-place.ts";
import { TokenRefusals } from "./token-refusals.ts";
import type { TokenStatements, TokenTableOptions } from "./token-statements.ts";
import type { MarkedTable } from "./token-table-owner.ts";

/** A token table that has been found, or the place for it. */
export interface OpenTable {
  readonly marked: MarkedTable | undefined;
  readonly statements: TokenStatements;
  readonly refusals: TokenRefusals;
  /** Insists on an owner that the config trusts. */
  insist(): Promise<void>;
}

export async function openTable(database: Database, options: TokenTableOptions): Promise<OpenTable> {
  const { dialect } = database;
  const place = await dialect.tablePlace(database.byRolesPath, nameOf(options.table));
  const insist = () => insistOnTableOwner(database, options, place);
  await insist();
  const statements = dialect.tokenStatements({ ...options, place });
  return {
    marked: place && { ...place, column: await dialect.columnName(database, place, options.tokenColumn) },
    statements,
    refusals: new TokenRefusals(dialect, statements, options),
    insist,
  };
}

/** With `rows: existing` the config names a table of the customer's, and so trusts its owner. */
async function insistOnTableOwner(
  database: Database,
  { rows, owner }: TokenTableOptions,
  place: TablePlace | undefined,
): Promise<void> {
  if (!place || rows === "existing") return;
  const tables = { schema: place.schema, tables: [place.table], trusted: owner === undefined ? [] : [owner] };
  await insistOnOwner(database, tables);
}
