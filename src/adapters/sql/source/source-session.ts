/** The connection of one read, in a read-only transaction that sees one moment. */
export interface SourceSession {
  query<Row extends object>(sql: string): Promise<Row[]>;
  /** Has the server check a statement without running it. */
  prepare(sql: string): Promise<void>;
  /** Streams a query's rows, as arrays, in batches of at most `size`. */
  batches<Row extends readonly unknown[]>(sql: string, size: number): AsyncIterable<Row[]>;
  /** Ends the transaction with the connection: there is nothing to commit. Idempotent. */
  close(): Promise<void>;
}
