import type { SourceBucket, TenantRow } from "../core/group/tenant.ts";

/** The customer's database. */
export interface TenantSource {
  /**
   * Opens one read-only snapshot for all reads of a run. `seed` goes into every digest; `before` is the table that the
   * last run read.
   * Rejects with SOURCE_UNAVAILABLE, also if the table is missing; with a CONFIG_… code if the rules name a missing column
   * or the config's SQL is wrong; with CONFIG_TABLE_MOVED if the config now leads to another table than `before`, and then
   * without touching that table. Once `stop` aborts, `open` and the snapshot's methods reject with INTERRUPTED, whatever
   * the database is doing.
   */
  open(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantSnapshot>;
  /** Opens a connection to look single tenants up. Takes the same parameters as `open`, and rejects as `open` does. */
  lookups(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantLookups>;
}

/** Finds the rows of single tenants by their ids, over one connection. Its methods reject as `TenantSource.open` does. */
export interface TenantLookups {
  /** The table, with its schema; null for a query. */
  readonly table: string | null;
  /** False if the database would read the whole source to find one id, or doesn't let this role ask for its plan. */
  readonly isIndexed: boolean;
  /**
   * The rows of these ids, as `TenantSnapshot.rows` gives them: duplicates and removed rows too, ordered by the UTF-8
   * bytes of the id. An id that the column's type can't hold has no row. All rows of a call are of one moment. Calls at
   * the same time take turns. If the connection has broken, the next call opens a new one.
   */
  rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]>;
  /** Ends the connection. Later calls of `rowsOf` reject with INTERRUPTED. Idempotent. */
  close(): Promise<void>;
}

/** What the role that reads the tenants could do besides. The owner of a table that the role reads can use the role's rights. */
export interface SourceRole {
  readonly name: string;
  /** Tables of the tokens and the ledger that the role can read. */
  readonly secrets: readonly string[];
  /** Schemas in which the config's SQL looks functions up and in which other roles may create functions. */
  readonly openSchemas: readonly string[];
}

/** Its methods reject as `open` does. */
export interface TenantSnapshot {
  /** The table, with its schema; null for a query. */
  readonly table: string | null;
  /**
   * Every bucket that has rows, in any order. All rows whose id is null are in one bucket. Removed rows are in no bucket,
   * because they have no group. Rows that are not ready are in no sum: they are counted beside it.
   */
  buckets(): Promise<readonly SourceBucket[]>;
  /**
   * All rows, or the rows of some buckets, in batches, ordered by the UTF-8 bytes of the id; rows without an id come last.
   * Each row has the id first and then the columns that `open` was asked for. Removed rows are included.
   */
  rows(buckets?: readonly number[]): AsyncIterable<readonly TenantRow[]>;
  /** See `TenantLookups.isIndexed`. */
  isIndexed(): Promise<boolean>;
  /** See `TenantLookups.rowsOf`. Not while `rows` is being read. */
  rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]>;
  role(): Promise<SourceRole>;
  /** Ends the snapshot and its connection. Idempotent. */
  close(): Promise<void>;
}
