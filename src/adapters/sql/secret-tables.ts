import type { Database } from "./database.ts";
import type { LedgerLocation } from "./ledger-tables.ts";
import { nameOf } from "./names.ts";
import type { TablePlace } from "./table-place.ts";

/** A table by its own names that not everybody may read. */
export interface SecretTable extends Pick<TablePlace, "schema" | "table"> {
  /** What is secret in it; everything, where left out. */
  readonly column?: string;
}

/** As the config names it, with the user that writes to it. */
export interface NamedSecret {
  readonly database: Database;
  readonly at: LedgerLocation | { readonly table: string; readonly tokenColumn: string };
}

/** Never rejects: a table whose database doesn't answer is left out. */
export async function secretTables(secrets: readonly NamedSecret[]): Promise<SecretTable[]> {
  const found = await Promise.all(secrets.map((secret) => placeOf(secret).catch(() => [])));
  return found.flat();
}

async function placeOf({ database, at }: NamedSecret): Promise<SecretTable[]> {
  const { dialect, byRolesPath } = database;
  if ("tablePrefix" in at) {
    const place = await dialect.tablePlace(byRolesPath, {
      schema: at.schema,
      table: `${at.tablePrefix}groups`,
    });
    return place ? [place] : [];
  }
  const place = await dialect.tablePlace(byRolesPath, nameOf(at.table));
  return place ? [{ ...place, column: at.tokenColumn }] : [];
}
