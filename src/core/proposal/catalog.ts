/** What a type of a database is good for in a group. `other` is good for nothing, such as a range or a point. */
export type ColumnKind =
  | "text"
  | "integer"
  | "uuid"
  | "number"
  | "boolean"
  | "choice"
  | "timestamp"
  | "date"
  | "json"
  | "bytes"
  | "other";

export interface CatalogColumn {
  readonly name: string;
  /** The type in the database's own words. */
  readonly type: string;
  readonly kind: ColumnKind;
  readonly isNullable: boolean;
  /** The column alone is the primary key, or has a unique index over all rows. */
  readonly key: "primary" | "unique" | null;
  /** An index over all rows begins with the column. */
  readonly isIndexed: boolean;
  /** The database itself gives the column the present time with each update. */
  readonly movesItself: boolean;
}

/** A table or a view that may have the tenants. */
export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  /** Only a table can have triggers for each statement, keys and indexes. A foreign table counts as a view. */
  readonly kind: "table" | "view";
  /** The database's estimate. Null if it has none. */
  readonly rows: number | null;
  /** False if the user may not read all of its columns. */
  readonly isReadable: boolean;
  /** PostgreSQL: policies may hide rows from a role. */
  readonly hasPolicies: boolean;
  /** PostgreSQL: the rows are in partitions, so no index can be made while others write. */
  readonly isPartitioned: boolean;
  readonly columns: readonly CatalogColumn[];
  /** How many other tables have a foreign key to this one. */
  readonly referencedBy: number;
  /** To how many other tables this one has a foreign key. */
  readonly references: number;
}

/** The catalog of one database, as far as its user may see it. */
export interface Catalog {
  readonly dialect: "postgres" | "mysql";
  /** The name of the database; null if the url of a MySQL server names none. */
  readonly database: string | null;
  readonly tables: readonly CatalogTable[];
}

/** Whether reading the table may run functions that others have written, with the rights of whoever reads. */
export const runsFunctions = ({ kind, hasPolicies }: CatalogTable): boolean => kind === "view" || hasPolicies;

/** A table as an operator writes it, without quotes. */
export const titleOf = ({ schema, name }: Pick<CatalogTable, "schema" | "name">): string =>
  `${schema}.${name}`;
