import pg from "pg";
import Cursor from "pg-cursor";
import type { Queryable } from "../sql/connections.ts";
import type { Database, DatabaseOptions } from "../sql/database.ts";
import { connectionOptions } from "./connection.ts";
import { postgres } from "./dialect.ts";

/** A statement that takes longer is taken for lost. Reading the source is not bound by it. */
const STATEMENT_TIMEOUT = 60_000;

export class PostgresDatabase implements Database {
  readonly dialect = postgres;
  readonly #pool: pg.Pool;

  constructor({ url, applicationName, maxConnections }: DatabaseOptions) {
    this.#pool = new pg.Pool({ ...connectionOptions(url, applicationName), max: maxConnections });
    // A connection that breaks while it is idle is replaced; the next statement tells if that fails.
    this.#pool.on("error", ignore);
    this.#pool.on("connect", (client) => client.on("error", ignore));
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(limited(text, values))).rows;
  }

  async change(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.#pool.query(limited(text, values))).rowCount ?? 0;
  }

  /** The statements that open it go in one round trip. */
  async transaction<T>(
    begin: readonly string[],
    body: (connection: Queryable, begun: readonly object[]) => Promise<T>,
  ): Promise<T> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      const connection: Queryable = {
        query: async <Row extends object>(text: string, values?: readonly unknown[]) =>
          (await client.query<Row>(limited(text, values))).rows,
      };
      const begun: pg.QueryResult | pg.QueryResult[] = await client.query(limited(begin.join("; ")));
      const result = await body(connection, [begun].flat().at(-1)?.rows ?? []);
      await connection.query("COMMIT");
      broken = false;
      return result;
    } finally {
      // Closing the connection rolls back too, and works where the server no longer answers.
      client.release(broken);
    }
  }

  async *stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      await client.query(begin.join("; "));
      yield* readCursor<Row>(client, text, values, { rowMode: "array" }, size);
      await client.query("COMMIT");
      broken = false;
    } finally {
      // Also where the reader stops early: the transaction must not stay open.
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    if (!this.#pool.ended && !this.#pool.ending) await this.#pool.end();
  }
}

/** Reads a query to its end, a batch at a time, on a connection that is in a transaction. */
export async function* readCursor<Row extends readonly unknown[]>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
  config: ConstructorParameters<typeof Cursor>[2],
  size: number,
): AsyncGenerator<Row[]> {
  const cursor = client.query(new Cursor<Row>(text, [...values], config));
  for (;;) {
    const rows = await cursor.read(size);
    if (rows.length === 0) return;
    yield rows;
  }
}

/** Not for cursors: the driver's timer would go on when their statement is long answered. */
const limited = (
  text: string,
  values: readonly unknown[] = [],
): pg.QueryConfig & { query_timeout: number } => ({
  text,
  values: [...values],
  query_timeout: STATEMENT_TIMEOUT,
});

function ignore(): void {}
