/**
 * What is used of a connection. Values stand in the text as $1, $2 …, each as often as it is needed. Integers of 64
 * bits come as text, as counts and sums do; times as Dates.
 */
export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A few connections to one database. */
export interface Connections extends Queryable {
  /** A statement that changes rows; resolves to how many it found. */
  change(text: string, values?: readonly unknown[]): Promise<number>;
  /**
   * Runs `body` in one transaction, on a connection of its own. `begin` are the statements that open it; `body` gets
   * the rows of the last one.
   */
  transaction<T>(
    begin: readonly string[],
    body: (connection: Queryable, begun: readonly object[]) => Promise<T>,
  ): Promise<T>;
  /** Streams a query's rows, as arrays, in batches of at most `size`, in a transaction that reads. */
  stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncIterable<Row[]>;
  /** Ends all connections. Idempotent. */
  close(): Promise<void>;
}
