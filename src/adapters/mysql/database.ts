import {
  createPool,
  type Pool,
  type PoolConnection,
  type QueryResult,
  type ResultSetHeader,
  type RowDataPacket,
} from "mysql2";
import type { Queryable } from "../sql/connections.ts";
import type { Database, DatabaseOptions } from "../sql/database.ts";
import { connectionOptions } from "./connection.ts";
import { cutOff, endInTime } from "./cut-off.ts";
import { mysql as dialect } from "./dialect.ts";
import { isAnswer } from "./failures.ts";
import { inTime } from "./in-time.ts";
import { readStream } from "./read-stream.ts";
import { EVERY_SESSION } from "./session.ts";
import { withValues } from "./statement.ts";
import { columnValue } from "./values.ts";

/** A statement that takes longer is taken for lost, in milliseconds. */
const STATEMENT_TIMEOUT = 60_000;
/** The server ends a session that stands still for longer than a minute; ours are ended before. In milliseconds. */
const IDLE_TIMEOUT = 20_000;

/**
 * What the dialect's statements count on. A COMMIT must neither begin a transaction nor end the session. A statement
 * that waits for a table somebody is altering must not outlive its sender: it would keep the lease's row locked.
 */
const SESSION = `SET SESSION ${EVERY_SESSION}, sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  wait_timeout = 60, lock_wait_timeout = 50, autocommit = 1, completion_type = NO_CHAIN, sql_safe_updates = 0,
  foreign_key_checks = 1, unique_checks = 1`;
const ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/** A MySQL or MariaDB database. */
export class MysqlDatabase implements Database {
  readonly dialect = dialect;
  readonly #pool: Pool;
  readonly #open = new Set<PoolConnection>();
  /** Connections whose sessions are set up. */
  readonly #ready = new WeakSet<PoolConnection>();
  #closed = false;

  constructor({ url, applicationName, maxConnections }: DatabaseOptions) {
    this.#pool = createPool({
      ...connectionOptions(url, applicationName),
      connectionLimit: maxConnections,
      maxIdle: 0,
      idleTimeout: IDLE_TIMEOUT,
      timezone: "Z",
      // What the interface promises: 64-bit integers as text, times as Dates.
      supportBigNumbers: true,
      bigNumberStrings: true,
      typeCast: columnValue,
    });
    this.#pool.on("connection", (connection) => {
      this.#open.add(connection);
      connection.once("end", () => this.#open.delete(connection));
    });
  }

  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#withConnection((connection) => rowsOf<Row>(connection, text, values));
  }

  change(text: string, values?: readonly unknown[]): Promise<number> {
    return this.#withConnection(async (connection) => {
      const result = await run<ResultSetHeader>(connection, text, values);
      return result.affectedRows;
    });
  }

  async transaction<T>(
    begin: readonly string[],
    body: (connection: Queryable, begun: readonly object[]) => Promise<T>,
  ): Promise<T> {
    const connection = await this.#connect();
    let broken = true;
    try {
      let begun: readonly object[] = [];
      for (const statement of begin) begun = await rowsOf(connection, statement);
      const result = await body({ query: (text, values) => rowsOf(connection, text, values) }, begun);
      await run(connection, "COMMIT");
      broken = false;
      return result;
    } finally {
      // Closing the connection rolls back too, and works where the server no longer answers.
      end(connection, broken);
    }
  }

  async *stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    const connection = await this.#connect();
    let broken = true;
    try {
      for (const statement of begin) await rowsOf(connection, statement);
      yield* readStream<Row>(connection, { sql: withValues(text, values), rowsAsArray: true }, size);
      await run(connection, "COMMIT");
      broken = false;
    } finally {
      // Also where the reader stops early: the transaction must not stay open.
      end(connection, broken);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await endInTime(this.#pool.promise().end(), this.#open);
  }

  async #withConnection<T>(body: (connection: PoolConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connect();
    let broken = false;
    try {
      return await body(connection);
    } catch (error) {
      broken = !isAnswer(error);
      throw error;
    } finally {
      end(connection, broken);
    }
  }

  async #connect(): Promise<PoolConnection> {
    const connection = await new Promise<PoolConnection>((resolve, reject) => {
      this.#pool.getConnection((error, connected) => (error ? reject(error) : resolve(connected)));
    });
    try {
      if (!this.#ready.has(connection)) {
        await run(connection, SESSION);
        await run(connection, ISOLATION);
        this.#ready.add(connection);
      }
      return connection;
    } catch (error) {
      cutOff(connection);
      throw error;
    }
  }
}

async function rowsOf<Row extends object>(
  connection: PoolConnection,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  const rows = await run<(Row & RowDataPacket)[]>(connection, text, values);
  // A statement that finds nothing answers with a header.
  return Array.isArray(rows) ? rows : [];
}

async function run<Answer extends QueryResult>(
  connection: PoolConnection,
  text: string,
  values?: readonly unknown[],
): Promise<Answer> {
  try {
    const [answer] = await inTime(
      STATEMENT_TIMEOUT,
      connection.promise().query<Answer>(withValues(text, values)),
    );
    return answer;
  } catch (error) {
    // The driver puts the statement there, with the values, and a token may be one of them.
    if (error instanceof Error) Reflect.deleteProperty(error, "sql");
    throw error;
  }
}

function end(connection: PoolConnection, broken: boolean): void {
  if (broken) cutOff(connection);
  else connection.release();
}
