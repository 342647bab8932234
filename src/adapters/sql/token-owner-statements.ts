import type { Connections, Queryable } from "./connections.ts";
import type { TokenTableOptions } from "./token-statements.ts";

/** Beside the token tables of a schema, the table that says whose they are. */
export const OWNERS_TABLE = "groupsync_token_owners";

/** A token table by the names that the database itself has for it, however the config spells them. */
export interface TokenTablePlace {
  readonly table: string;
  readonly column: string;
  /** The table of its owner's mark: as this program quotes it, and as an operator does. */
  readonly owners: { readonly quoted: string; readonly shown: string };
}

/** What has to be said differently to each kind of database about the owners of token tables. */
export interface TokenOwnerStatements {
  /** Undefined where the table isn't there, and nobody can say in which schema it would be made. */
  tokenTablePlace(
    database: Queryable,
    options: Pick<TokenTableOptions, "table" | "tokenColumn">,
  ): Promise<TokenTablePlace | undefined>;
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
