import type { WaitLimits } from "./attendance.ts";

/**
 * What is used of a connection. Values stand in the text as $1, $2 …, each as often as it is needed. Integers of 64
 * bits come as text, as counts and sums do; times as Dates.
 */
export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A connection in a transaction, which the server ends if this process stands still in it. */
export interface InTransaction extends Queryable {
  /** Throws PAUSED if the transaction may be over, or may be so before a call to another store is done. */
  assertOpen(): void;
}

/**
 * A few connections to one database. Reads reject with INTERRUPTED once this process is told to stop; what writes has a
 * few seconds more. No statement is waited for without a limit.
 */
export interface Connections extends Queryable {
  /** A statement that writes, and returns rows. */
  write<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * A statement that changes rows, in a transaction of its own that is as durable as a session can make it; resolves to
   * how many rows it found.
   */
  change(text: string, values?: readonly unknown[]): Promise<number>;
  /**
   * Runs `body` in one transaction, on a connection of its own. `begin` are the statements that open it; `body` gets
   * the rows of the last one. `limits` are WRITING where left out.
   */
  transaction<T>(
    begin: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits?: WaitLimits,
  ): Promise<T>;
  /** Streams a query's rows, as arrays, in batches of at most `size`, in a transaction that reads. */
  stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncIterable<Row[]>;
  /**
   * The same, for statements on the customer's tables: PostgreSQL looks their names up by the role's search_path, which
   * triggers and policies of these tables may need. Everything else in such a statement stands with its schema.
   */
  readonly byRolesPath: Pick<Connections, "query" | "write" | "stream">;
  /** Ends all connections, and what is still asked of them: nobody waits for it any more. Idempotent. */
  close(): Promise<void>;
}
