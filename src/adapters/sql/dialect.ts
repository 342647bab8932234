import type { DurabilityRisk } from "../../ports/durability.ts";
import type { Connections, Queryable } from "./connections.ts";
import type { Failures } from "./failures.ts";
import type { LedgerLocation, LedgerTables } from "./ledger-tables.ts";
import type { Names } from "./names.ts";
import type { TableOwners } from "./table-owner.ts";
import type { TablePlaces } from "./table-place.ts";
import type { TokenOwnerStatements } from "./token-owner-statements.ts";
import type { PlacedTokenTable, TokenStatements } from "./token-statements.ts";

/** Types of the columns of rows that come as JSON. An id compares by its bytes. */
export type ColumnType = "id" | "text" | "integer" | "bigint" | "time";

/** The statements that open a transaction. */
export interface Beginnings {
  readonly write: readonly string[];
  /** To take the lease: the server waits for a lock for ten seconds, and this side gives up sooner if it sees one. */
  readonly lease: readonly string[];
  /** To read at one point in time. */
  readonly snapshot: readonly string[];
}

export interface Upsert {
  /** A table, quoted. */
  readonly into: string;
  readonly columns: readonly string[];
  /** `VALUES (…)` or a query. */
  readonly from: string;
  /** The primary key. */
  readonly key: readonly string[];
  /**
   * What becomes of a row that is there; nothing where left out. MySQL assigns one column after the other: an
   * expression that needs an old value stands before the column that has it.
   */
  readonly set?: (is: (column: string) => string, was: (column: string) => string) => Assignments;
}

export interface UpdateFrom {
  /** A table, quoted; `g` in the expressions. */
  readonly table: string;
  /** What `rows` made; `t` in the expressions. */
  readonly from: string;
  /** Values of `t`, or such as MySQL can compute in any order. */
  readonly set: Assignments;
  readonly where: string;
}

/** Column to expression, in order. */
export type Assignments = Readonly<Record<string, string>>;

/** From nothing: where somebody else has made the tables meanwhile, they are left alone. */
export type LedgerMigration =
  | { readonly from: "nothing" }
  | {
      readonly from: "an older version";
      /** Finds a row where the lease is held. What follows in its transaction is done under the lease. */
      readonly ifHeld: string;
    };

/**
 * What differs between the databases that can hold the ledger and the tokens. Everything that is made of SQL is SQL.
 * Names are in double quotes in all of them, and parameters are $1, $2 ….
 */
export interface Dialect extends Names, Failures, TablePlaces, TableOwners, TokenOwnerStatements {
  readonly begin: Beginnings;
  /** The time on the database's clock, also if the statement had to wait for a lock. */
  readonly now: string;
  /** Statements that open and close a savepoint, within which the customer's tables are written and read. */
  readonly savepoint: { readonly open: string; readonly release: string };
  /** Sets how many seconds a statement of this transaction waits for a lock: as many as at its beginning, if left out. */
  lockWait(seconds?: number): string;
  literal(text: string): string;
  /** That time, so many milliseconds later. */
  later(milliseconds: string): string;
  /** Whether the column has one of the values of a parameter that is an array. */
  isOneOf(column: string, parameter: string): string;
  /** Whether two texts are the same, also in a statement on the customer's tables. */
  same(a: string, b: string): string;
  /** Whether two values differ; null differs from all but null. */
  differ(a: string, b: string): string;
  /** The parameter, the JSON of an array of objects, as a relation `t` with these columns. Times are ISO 8601. */
  rows(parameter: string, columns: Readonly<Record<string, ColumnType>>): string;
  /** The text of a JSON object. A time in it is text that JavaScript can parse. */
  jsonObject(members: Readonly<Record<string, { readonly of: string; readonly isTime?: boolean }>>): string;
  upsert(upsert: Upsert): string;
  updateFrom(update: UpdateFrom): string;
  /** Selects a lease's row, and has whoever wants to change its epoch wait for this transaction; not a heartbeat. */
  selectFenced(leases: string, where: string): string;
  /** What lets a crash of the server take commits back, and can't be changed by a session. */
  durabilityRisks(database: Queryable): Promise<readonly DurabilityRisk[]>;
  /** Whether there is such a table, that this user finds. The name is quoted. */
  tableExists(database: Connections, table: string): Promise<boolean>;
  tokenStatements(options: PlacedTokenTable): TokenStatements;
  /**
   * Rejects with a SyncError that says which right or schema is missing where the ledger's tables could not be made, or,
   * where they are there, not be written. Changes nothing.
   */
  inspectLedger(
    database: Connections,
    tables: LedgerTables,
    location: LedgerLocation,
    isThere: boolean,
  ): Promise<void>;
  /**
   * The schema that the ledger's tables are in, or would be made in. Undefined where their names need none, or where there
   * is none to be had.
   */
  ledgerSchema(database: Connections, location: LedgerLocation): Promise<string | undefined>;
  /** Creates or migrates the ledger's tables; two programs at once wait for each other. */
  migrateLedger(
    database: Connections,
    tables: LedgerTables,
    location: LedgerLocation,
    migration: LedgerMigration,
  ): Promise<void>;
}
