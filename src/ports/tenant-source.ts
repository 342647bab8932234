import type { TenantRow } from "../core/tenant.ts";

/** How many rows a bucket has, and the exact sum of their digests, in decimal. */
export interface BucketSum {
  readonly bucket: number;
  readonly rows: number;
  readonly sum: string;
}

/** The customer's database. */
export interface TenantSource {
  /**
   * Opens one read-only snapshot in which everything else is read. `seed` goes into every digest.
   * Rejects with SOURCE_UNAVAILABLE, also where the table is not there; or with a CONFIG_… code where the
   * rules name a column that it doesn't have, or the config's SQL is wrong, or with CONFIG_TABLE_MOVED where it leads to
   * another table than `before`, and nothing of that table is touched. Once `stop` aborts, `open` and the
   * snapshot's methods reject with INTERRUPTED, whatever the database is doing.
   */
  open(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantSnapshot>;
}

/** What else is in reach of the role that reads the tenants. Who owns what it reads can have code run as this role. */
export interface SourceRole {
  readonly name: string;
  /** Tables of the tokens and the ledger that the role can read. */
  readonly secrets: readonly string[];
  /** Schemas in which the config's SQL finds its functions, and in which others may create some. */
  readonly openSchemas: readonly OpenSchema[];
}

export interface OpenSchema {
  readonly name: string;
  /** The statements that close it, or do without it. */
  readonly remedy: string;
}

/** Its methods reject as `open` does. */
export interface TenantSnapshot {
  /** The table that it reads, with its schema; null for a query. */
  readonly table: string | null;
  /**
   * Every bucket that has rows, in any order. Rows whose id is null are in one of them; removed rows are in
   * none, for no group is to be found for them.
   */
  buckets(): Promise<readonly BucketSum[]>;
  /**
   * The rows, or those of some buckets, in batches, ordered by the UTF-8 bytes of the id, those without one last.
   * Each row holds the asked-for columns in order, the id first. Removed rows are among them.
   */
  rows(buckets?: readonly number[]): AsyncIterable<readonly TenantRow[]>;
  role(): Promise<SourceRole>;
  /** Ends the snapshot and its connection. Idempotent. */
  close(): Promise<void>;
}
