import type { DurabilityRisk } from "../../../ports/ledger/ledger.ts";
import type { Connections, Queryable } from "../connection/connections.ts";
import type { Failures } from "../connection/failures.ts";
import type { Identifiers } from "../connection/identifiers.ts";
import type { TablePlace, TablePlaces } from "../connection/table-place.ts";
import type { LedgerLocation, LedgerTables } from "./ledger-tables.ts";
import type { TableOwners } from "./table-owner.ts";
import type { PlacedTokenTable, TokenStatements } from "./token-statements.ts";

/** Types of columns of rows that a statement gets as JSON. Ids are compared by their bytes. */
export type ColumnType = "id" | "text" | "integer" | "bigint" | "time";

/** The statements that open a transaction. */
interface Beginnings {
  readonly write: readonly string[];
  readonly lease: readonly string[];
  /** To read at one point in time. */
  readonly snapshot: readonly string[];
}

interface Upsert {
  /** A table, quoted. */
  readonly into: string;
  readonly columns: readonly string[];
  /** `VALUES (…)` or a query. */
  readonly from: string;
  /** The columns of the key, which is unique. */
  readonly key: readonly string[];
  /** The columns that take the new values if the row already exists; none if left out. */
  readonly set?: readonly string[];
}

/**
 * What differs between the databases that can hold the ledger and the tokens. Arguments and results are SQL text, in
 * which names stand in double quotes and parameters are $1, $2 ….
 */
export interface Dialect extends Identifiers, Failures, TablePlaces, TableOwners {
  readonly begin: Beginnings;
  /** The time on the database's clock, taken after any wait for a lock. */
  readonly now: string;
  /** Opens the savepoint for statements on the customer's tables, goes back to it, and closes it. */
  readonly savepoint: { readonly open: string; readonly undo: string; readonly release: string };
  /**
   * Sets how many seconds a statement of this transaction waits for a lock; left out: as at the start of a write. Set that
   * again before the transaction's end.
   */
  lockWait(seconds?: number): string;
  literal(text: string): string;
  /** `now` plus this number of milliseconds. */
  later(milliseconds: string): string;
  /** Whether the column has one of the values of the parameter, which is an array. */
  isOneOf(column: string, parameter: string): string;
  /**
   * The rows of scope $1 in a table of the ledger, as `g`, whose column has one of the values of $2. PostgreSQL asks the
   * column's index for each value: left to itself it reads the whole scope as long as a new table has no statistics.
   */
  rowsByIndex(table: string, column: string): string;
  /** Whether two texts are the same. Also for statements on the customer's tables. */
  same(a: string, b: string): string;
  /** A relation `t` with these columns, from a parameter that is a JSON array of objects. Times are ISO 8601. */
  rows(parameter: string, columns: Readonly<Record<string, ColumnType>>): string;
  upsert(upsert: Upsert): string;
  /** Selects a lease's row and locks it against a new holder until the transaction ends, but not against a renewal. */
  selectFenced(leases: string, where: string): string;
  /**
   * Identifies the server of this connection among all that may have the ledger, and what it has gone through: after a
   * failover it is another one. Null if this server doesn't tell.
   */
  serverIdentity(database: Connections): Promise<string | null>;
  /** The server's settings by which a crash loses commits, and which a session can't change. */
  durabilityRisks(database: Queryable): Promise<readonly DurabilityRisk[]>;
  /** Whether this user finds the table. The name is quoted. */
  tableExists(database: Connections, table: string): Promise<boolean>;
  /** Runs CREATE TABLE IF NOT EXISTS. Two programs that do so at once take turns. */
  createTable(database: Connections, statement: string): Promise<unknown>;
  /** The types of the columns of the table of owners' marks, and the table's options. */
  readonly ownerTypes: { readonly name: string; readonly text: string; readonly end: string };
  /** The name that the database itself has for a column. */
  columnName(database: Queryable, place: TablePlace, written: string): Promise<string>;
  /** The user of this connection, for a GRANT. */
  grantee(database: Connections): Promise<string>;
  tokenStatements(options: PlacedTokenTable): TokenStatements;
  /**
   * Rejects if this user could not create the ledger's tables or, if they exist, could not write to them. The SyncError
   * names the missing right or schema. Changes nothing.
   */
  inspectLedger(
    database: Connections,
    tables: LedgerTables,
    location: LedgerLocation,
    isThere: boolean,
  ): Promise<void>;
  /**
   * The schema that the ledger's tables are in or would be created in. Undefined if their names need no schema, or if
   * there is no usable schema.
   */
  ledgerSchema(database: Connections, location: LedgerLocation): Promise<string | undefined>;
  /** Creates the ledger's tables. Two programs that do so at once take turns. */
  createLedger(database: Connections, tables: LedgerTables, location: LedgerLocation): Promise<void>;
}
