import type { StoredToken } from "../../ports/token-store.ts";
import type { Connections, Queryable } from "./connections.ts";
import type { TablePlace } from "./table-place.ts";

export interface TokenTableOptions {
  /** As the config writes it: `table` or `schema.table`. */
  readonly table: string;
  /** The whole place in words, by which a later run knows that the config still says the same. */
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

/** With where the table is, or would be made; undefined where nobody can say. Every statement goes to this place. */
export interface PlacedTokenTable extends TokenTableOptions {
  readonly place: TablePlace | undefined;
}

/** A row that was found for a group. */
export interface TokenRow {
  readonly id: string;
  readonly token: string | null;
}

/** Whether a group's row has the token that it should have; null where there is no row. */
export interface TokenCheck {
  readonly id: string;
  readonly isThere: boolean | null;
}

/** What is said to one token table, in one dialect. Rejects with what the driver throws. */
export interface TokenStatements {
  /** What has to be run for the token column to take NULL, for a hint. Good once the table is prepared. */
  readonly allowNull: string;
  /**
   * Creates the table where it is groupsync's own and missing, and insists on all that writing to it will need:
   * a token that can't be stored is better not fetched. Rejects with CONFIG_COLUMNS or TOKEN_STORE_UNAVAILABLE.
   */
  prepare(database: Connections): Promise<void>;
  /** Rejects likewise, and changes nothing. */
  inspect(database: Connections): Promise<void>;
  /** False where there is no table. */
  holdsAny(database: Connections): Promise<boolean>;
  /** Selects the ids of the rows that have a token, as text, in the order of their bytes. Good once the table is prepared or inspected. */
  readonly selectIds: string;
  /**
   * The rows of these groups that were written, as they are then. With `rewrite`, also where they are as they were.
   * A dialect that isn't told by the database returns those too that are as they should be.
   */
  write(
    connection: Queryable,
    tokens: readonly StoredToken[],
    rewrite: boolean,
  ): Promise<readonly TokenRow[]>;
  /**
   * As `write`, in one statement, while the query finds a row. Undefined if the dialect can't say that, or the server
   * would log the token with an error.
   */
  writeIf(query: string, token: StoredToken): OneStatement | undefined;
  /** A row for each. */
  check(connection: Queryable, tokens: readonly StoredToken[]): Promise<readonly TokenCheck[]>;
  /**
   * The rows of these groups that may have a token. `byText` does without the index, but also for an id that is none
   * of its column's type.
   */
  find(connection: Queryable, ids: readonly string[], byText: boolean): Promise<readonly TokenRow[]>;
  /** Resolves to the ids whose tokens were removed. */
  remove(connection: Queryable, ids: readonly string[]): Promise<readonly string[]>;
}

export interface OneStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}
