/** A connection that reads in read-only transactions, each of which sees one moment. */
export interface SourceSession {
  /** False once the connection is closed or known to be broken. */
  readonly isOpen: boolean;
  begin(): Promise<void>;
  /** Ends the transaction, and keeps the connection. */
  commit(): Promise<void>;
  query<Row extends object>(sql: string): Promise<Row[]>;
  /** Describes a query's columns without reading a row. As long as names and types stay the same, so does the text. */
  describe(sql: string): Promise<string>;
  /** Has the server check a statement without running it. */
  prepare(sql: string): Promise<void>;
  /** Reads a query's rows, as arrays, at once: for a query with few rows. */
  rows<Row extends readonly unknown[]>(sql: string): Promise<Row[]>;
  /** Like `rows`, in a transaction of its own: as often as every second. */
  look<Row extends readonly unknown[]>(sql: string): Promise<Row[]>;
  /** Streams a query's rows, as arrays, in batches of at most `size`. */
  batches<Row extends readonly unknown[]>(sql: string, size: number): AsyncIterable<Row[]>;
  /** Ends the transaction with the connection: there is nothing to commit. Idempotent. */
  close(): Promise<void>;
}
