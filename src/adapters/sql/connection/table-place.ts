import type { Queryable } from "./connections.ts";
import type { Identifiers, TableName } from "./identifiers.ts";

/** Where a table is, in the database's own spelling of the names. */
export interface TablePlace {
  /** On MySQL the name of a database. */
  readonly schema: string;
  readonly table: string;
  /** The role that owns the table. Null if there is no table yet, and on MySQL, whose tables have no owners. */
  readonly owner: string | null;
  /** Whether this user owns the table. */
  readonly isOurs: boolean;
}

/**
 * How one kind of database finds a table. A name without a schema is looked up in the user's default schema or path.
 */
export interface TablePlaces {
  /**
   * Where the table is, or would be created. Undefined if there is no table and no schema to create it in. Asked once
   * for each table: if a table of the same name appears in another schema later, statements keep using the first.
   */
  tablePlace(byRolesPath: Queryable, name: TableName): Promise<TablePlace | undefined>;
}

/** The quoted place of a table; if its place is unknown, the quoted name from the config. */
export const quotedTable = (
  names: Identifiers,
  { place, table }: { readonly place: TablePlace | undefined; readonly table: string },
): string => (place ? quotePlace(names, place) : names.quoteTable(table));

export const quotePlace = (
  { quoteName }: Pick<Identifiers, "quoteName">,
  { schema, table }: Pick<TablePlace, "schema" | "table">,
): string => `${quoteName(schema)}.${quoteName(table)}`;
