import { nameOf } from "../connection/identifiers.ts";
import type { TablePlace } from "../connection/table-place.ts";
import type { Database } from "../dialect/database.ts";
import type { LedgerLocation } from "../dialect/ledger-tables.ts";

/** A table that holds secrets, by the database's own spelling of its names. */
export interface SensitiveTable extends Pick<TablePlace, "schema" | "table"> {
  /** The column with the secrets; every column, if left out. */
  readonly column?: string;
}

/** A table that holds secrets, as the config names it. `database` connects as the user that writes to the table. */
export interface SensitiveTableName {
  readonly database: Database;
  readonly at: LedgerLocation | { readonly table: string; readonly tokenColumn: string };
}

/**
 * Finds the tables, one after the other: to open a second connection would take longer. Never rejects: leaves a table
 * out if its database doesn't answer.
 */
export async function sensitiveTables(secrets: readonly SensitiveTableName[]): Promise<SensitiveTable[]> {
  const found: SensitiveTable[] = [];
  for (const secret of secrets) found.push(...(await placeOf(secret).catch(() => [])));
  return found;
}

async function placeOf({ database, at }: SensitiveTableName): Promise<SensitiveTable[]> {
  const isLedger = "tablePrefix" in at;
  const name = isLedger ? { schema: at.schema, table: `${at.tablePrefix}groups` } : nameOf(at.table);
  const place = await database.dialect.tablePlace(database.byRolesPath, name);
  if (!place) return [];
  return [isLedger ? place : { ...place, column: at.tokenColumn }];
}
