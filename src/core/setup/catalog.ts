/** What a type of a database is good for in a group. `other` is good for nothing that init looks for, such as bytes. */
export type ColumnKind = "text" | "integer" | "uuid" | "boolean" | "timestamp" | "date" | "other";

export interface CatalogColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly isNullable: boolean;
  /** The column alone is the primary key, or has a unique index over all rows. */
  readonly key: "primary" | "unique" | null;
  /** An index over all rows begins with the column. */
  readonly isIndexed: boolean;
  /** The column to which a foreign key leads. */
  readonly refersTo: { readonly schema: string; readonly table: string; readonly column: string } | null;
}

/** A table or a view that may have the tenants. */
export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  /** Only a table has keys and indexes. A foreign table counts as a view. */
  readonly kind: "table" | "view";
  /** PostgreSQL: the owner; MySQL: the definer of a view. Null if the server has or tells none. */
  readonly owner: string | null;
  /**
   * Whether nobody but this user, or a role that the user belongs to, decides what runs when the table is read. On MySQL,
   * which has no owners, so do the url's database, and the definer of a view.
   */
  readonly isOurs: boolean;
  /** False if the user may not read all of its columns. */
  readonly isReadable: boolean;
  readonly columns: readonly CatalogColumn[];
}

/** The catalog of one database, as far as its user may see it. */
export interface Catalog {
  readonly dialect: "postgres" | "mysql";
  /** The name of the database; null if the url of a MySQL server names none. */
  readonly database: string | null;
  readonly tables: readonly CatalogTable[];
}

/** A table as an operator writes it. It has quotes only if two tables could have the same title without them. */
export const titleOf = ({ schema, name }: Pick<CatalogTable, "schema" | "name">): string =>
  [schema, name].map((part) => (/[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part)).join(".");

export const titleWithOwner = (table: CatalogTable): string =>
  table.owner === null ? titleOf(table) : `${titleOf(table)} (owner ${table.owner})`;
