import type { Connections, Queryable } from "../connection/connections.ts";
import type { TablePlace } from "../connection/table-place.ts";

/** The table, beside the token tables of a schema, that says whose the token tables are. */
export const OWNERS_TABLE = "groupsync_token_owners";

/** What differs between the kinds of databases in statements about the owners' marks of token tables. */
export interface TokenOwnerStatements {
  /** The name that the database itself has for a column. */
  columnName(database: Queryable, place: TablePlace, written: string): Promise<string>;
  /** A name, quoted for an operator's client. */
  shownName(name: string): string;
  /** The types of the columns of the table of marks, and the table's options. */
  readonly ownerTypes: { readonly name: string; readonly text: string; readonly end: string };
  /** Runs CREATE TABLE IF NOT EXISTS. Two programs that do so at once take turns. */
  createOnce(database: Connections, statement: string): Promise<void>;
  /** The user of this connection, for a GRANT. */
  grantee(database: Connections): Promise<string>;
  /** A right is missing. */
  isDenied(error: unknown): boolean;
}
