import pg from "pg";
import Cursor from "pg-cursor";
import type { Secret } from "../../core/secret.ts";

/** What is used of a connection; values go as text. */
export interface Queryable {
  query<Row extends object>(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

export interface DatabaseOptions {
  readonly url: Secret;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections: number;
}

const CONNECT_TIMEOUT = 10_000;
/** A statement that takes longer is taken for lost. Reading the source is not bound by it. */
const STATEMENT_TIMEOUT = 60_000;

/** One PostgreSQL database and a few connections to it. */
export class Database {
  readonly #pool: pg.Pool;

  constructor({ url, applicationName, maxConnections }: DatabaseOptions) {
    this.#pool = new pg.Pool({
      connectionString: url.reveal(),
      application_name: applicationName,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    // A connection that breaks while it is idle is replaced; the next statement tells if that fails.
    this.#pool.on("error", ignore);
    this.#pool.on("connect", (client) => client.on("error", ignore));
  }

  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(limited(text, values))).rows;
  }

  /**
   * Runs `body` in one transaction. `begin` may carry more statements, after semicolons and without values:
   * they go in the same round trip, and `body` gets the rows of the last one.
   */
  async transaction<T>(
    begin: string,
    body: (connection: Queryable, begun: readonly object[]) => Promise<T>,
  ): Promise<T> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      const connection: Queryable = { query: (text, values) => client.query(limited(text, values)) };
      const begun: pg.QueryResult | pg.QueryResult[] = await client.query(limited(begin));
      const result = await body(connection, [begun].flat().at(-1)?.rows ?? []);
      await connection.query("COMMIT");
      broken = false;
      return result;
    } finally {
      // Closing the connection rolls back too, and works where the server no longer answers.
      client.release(broken);
    }
  }

  /** Streams a query's rows, as arrays, in batches of at most `size`. */
  async *stream<Row extends unknown[]>(
    begin: string,
    text: string,
    values: unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      await client.query(begin);
      yield* readCursor<Row>(client, text, values, { rowMode: "array" }, size);
      await client.query("COMMIT");
      broken = false;
    } finally {
      // Also where the reader stops early: the transaction must not stay open.
      client.release(broken);
    }
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    if (!this.#pool.ended && !this.#pool.ending) await this.#pool.end();
  }
}

/** Reads a query to its end, a batch at a time, on a connection that is in a transaction. */
export async function* readCursor<Row extends unknown[]>(
  client: pg.ClientBase,
  text: string,
  values: unknown[],
  config: ConstructorParameters<typeof Cursor>[2],
  size: number,
): AsyncGenerator<Row[]> {
  const cursor = client.query(new Cursor<Row>(text, values, config));
  for (;;) {
    const rows = await cursor.read(size);
    if (rows.length === 0) return;
    yield rows;
  }
}

/** Not for cursors: the driver's timer would go on when their statement is long answered. */
const limited = (text: string, values: unknown[] = []): pg.QueryConfig & { query_timeout: number } => ({
  text,
  values,
  query_timeout: STATEMENT_TIMEOUT,
});

function ignore(): void {}
