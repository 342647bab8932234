import type { StoredToken } from "../../../ports/token-store.ts";
import type { Connections, Queryable } from "../connection/connections.ts";
import type { TablePlace } from "../connection/table-place.ts";

export interface TokenTableOptions {
  /** As the config writes it: `table` or `schema.table`. */
  readonly table: string;
  /** The whole destination in words. A later run compares it to see whether the config still says the same. */
  readonly written?: string | undefined;
  /** `own`: groupsync inserts and deletes the rows. `existing`: it fills a column of the customer's rows. */
  readonly rows: "own" | "existing";
  readonly idColumn: string;
  readonly tokenColumn: string;
  /** A role that may own the table with `rows: own`, beside this user and its groups. */
  readonly owner?: string | undefined;
  /** A channel that gets the id of each group whose token is new. */
  readonly notify?: string | undefined;
}

/** `place` is where the table is or would be created; undefined if the database can't say. Every statement names it. */
export interface PlacedTokenTable extends TokenTableOptions {
  readonly place: TablePlace | undefined;
}

/** A row found for a group. */
export interface TokenRow {
  readonly id: string;
  readonly token: string | null;
}

/** Whether a group's row has the token that it should have; null if there is no row. */
export interface TokenCheck {
  readonly id: string;
  readonly isThere: boolean | null;
}

/** All statements on one token table, in one dialect. They reject with the driver's errors. */
export interface TokenStatements {
  /**
   * Creates the table if it is missing and groupsync's own, and checks everything that writes will need: better no
   * token than one that can't be stored. Rejects with CONFIG_COLUMNS or TOKEN_STORE_UNAVAILABLE.
   */
  prepare(database: Connections): Promise<void>;
  /** Makes the same checks as `prepare`, and changes nothing. */
  inspect(database: Connections): Promise<void>;
  /** False if there is no table. */
  holdsAny(database: Connections): Promise<boolean>;
  /**
   * Selects the ids of rows with a token, as text, ordered by their bytes. Valid once the table is prepared or
   * inspected.
   */
  readonly selectIds: string;
  /**
   * Writes these tokens and returns the ids of the written rows. Without `rewrite` it leaves out rows that already have their
   * token. MySQL doesn't tell which rows it wrote: there, all ids are returned. `check` tells what the rows have afterwards.
   */
  write(connection: Queryable, tokens: readonly StoredToken[], rewrite: boolean): Promise<readonly string[]>;
  /**
   * One statement that writes the token if `query` finds a row. Undefined if the dialect has no such
   * statement, or if the server would log the token together with an error.
   */
  writeIf(query: string, token: StoredToken): OneStatement | undefined;
  /** Returns one entry for each token. */
  check(connection: Queryable, tokens: readonly StoredToken[]): Promise<readonly TokenCheck[]>;
  /** The rows of these groups that may have a token. Rejects if the column's type can't have one of the ids. */
  find(connection: Queryable, ids: readonly string[]): Promise<readonly TokenRow[]>;
  /** Resolves to the ids whose tokens were removed. */
  remove(connection: Queryable, ids: readonly string[]): Promise<readonly string[]>;
}

export interface OneStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}
