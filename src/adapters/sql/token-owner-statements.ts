import type { Connections, Queryable } from "./connections.ts";
import type { TablePlace } from "./table-place.ts";

/** Beside the token tables of a schema, the table that says whose they are. */
export const OWNERS_TABLE = "groupsync_token_owners";

/** What has to be said differently to each kind of database about the owners of token tables. */
export interface TokenOwnerStatements {
  /** A column by the name that the database itself has for it. */
  columnName(database: Queryable, place: TablePlace, written: string): Promise<string>;
  /** A name as an operator's client takes it in quotes. */
  shownName(name: string): string;
  /** Whether names of tables that differ in case alone are one. */
  foldsCase(database: Connections): Promise<boolean>;
  /** The types of the columns of the owners' table, with its options. */
  readonly ownerTypes: { readonly name: string; readonly text: string; readonly end: string };
  /** Runs CREATE TABLE IF NOT EXISTS; of two programs at once, one waits for the other. */
  createOnce(database: Connections, statement: string): Promise<void>;
  /** The user of this connection, for a GRANT. */
  grantee(database: Connections): Promise<string>;
  /** A right is missing. */
  isDenied(error: unknown): boolean;
}
