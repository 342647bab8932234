import {
  createPool,
  type Pool,
  type PoolConnection,
  type QueryResult,
  type ResultSetHeader,
  type RowDataPacket,
} from "mysql2";
import { SyncError } from "../../core/errors.ts";
import { ASKING, Attendance, READING, unlessStopped, type WaitLimits, WRITING } from "../sql/attendance.ts";
import type { InTransaction } from "../sql/connections.ts";
import type { Database, DatabaseOptions } from "../sql/database.ts";
import { OpenTransaction } from "../sql/open-transaction.ts";
import { sessionOf, type Thread, WHO_AM_I } from "./attended-session.ts";
import { connectionOptions } from "./connection.ts";
import { cutOff, endInTime } from "./cut-off.ts";
import { mysql as dialect } from "./dialect.ts";
import { isAnswer, tooLarge } from "./failures.ts";
import { readStream } from "./read-stream.ts";
import { EVERY_SESSION } from "./session.ts";
import { withValues } from "./statement.ts";
import { columnValue } from "./values.ts";

/** How long a connection rests before it is ended, in milliseconds: the server would end it soon after. */
const IDLE_TIMEOUT = 20_000;

/**
 * Tokens stand in the text of statements, and prepared ones would be logged with their values too. The number of rows
 * also keeps out what a server logs because it uses no index.
 */
const NOT_IN_SLOW_LOG = "long_query_time = 31536000, min_examined_row_limit = 4294967295";

/**
 * What the dialect's statements count on. A COMMIT must neither begin a transaction nor end the session. A statement
 * that waits for a table somebody is altering must not outlive its sender: it would keep the lease's row locked.
 */
const SESSION = `SET SESSION ${EVERY_SESSION}, sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  lock_wait_timeout = 30, autocommit = 1, completion_type = NO_CHAIN, sql_safe_updates = 0,
  foreign_key_checks = 1, unique_checks = 1, ${NOT_IN_SLOW_LOG}`;
/** For a stream: it locks nobody out, and its reader may wait for the source for an hour. */
const UNHURRIED = "wait_timeout = 3600, net_write_timeout = 3600";
const ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/** A MySQL or MariaDB database. */
export class MysqlDatabase implements Database {
  readonly dialect = dialect;
  /** There is no such path. */
  readonly byRolesPath = this;
  readonly #pool: Pool;
  readonly #options: DatabaseOptions;
  readonly #open = new Set<PoolConnection>();
  readonly #busy = new Set<PoolConnection>();
  /** Of the connections whose sessions are set up. */
  readonly #threads = new WeakMap<PoolConnection, Thread>();
  /** Of these, too: the most bytes that the server takes as a statement. */
  readonly #largest = new WeakMap<PoolConnection, number>();
  #closed = false;
  #broken = 0;

  constructor(options: DatabaseOptions) {
    const { url, applicationName, maxConnections } = options;
    this.#options = options;
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
      // While it rests: a statement that it breaks in gets the error.
      connection.once("error", () => this.#broken++);
    });
  }

  get broken(): number {
    return this.#broken;
  }

  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#withConnection(ASKING, async (ask) => rowsOf<Row>(await ask(text, values)));
  }

  write<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#withConnection(WRITING, async (ask) => rowsOf<Row>(await ask(text, values)));
  }

  change(text: string, values?: readonly unknown[]): Promise<number> {
    return this.#withConnection(WRITING, async (ask) => {
      const result = (await ask(text, values)) as ResultSetHeader;
      return result.affectedRows;
    });
  }

  async transaction<T>(
    begin: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits = WRITING,
  ): Promise<T> {
    const connection = await this.#connect(limits);
    const askAnyway = this.#asking(connection, limits);
    const transaction = new OpenTransaction(() => askAnyway("SELECT 1"), this.#options.idleMs);
    const ask: Ask = (text, values) => transaction.ask(() => askAnyway(text, values));
    let broken = true;
    try {
      let begun: readonly object[] = [];
      for (const statement of begin) begun = rowsOf(await ask(statement));
      const query = async <Row extends object>(text: string, values?: readonly unknown[]) =>
        rowsOf<Row>(await ask(text, values));
      const result = await body({ query, assertOpen: () => transaction.assertOpen() }, begun);
      await ask("COMMIT");
      broken = false;
      return result;
    } catch (error) {
      if (hasBroken(error)) this.#broken++;
      throw error;
    } finally {
      await transaction.over();
      // Closing the connection rolls back too, and works where the server no longer answers.
      this.#end(connection, broken);
    }
  }

  async *stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    const connection = await this.#connect(READING);
    const ask = this.#asking(connection, READING);
    let broken = true;
    try {
      await ask(`SET SESSION ${UNHURRIED}`);
      for (const statement of begin) await ask(statement);
      const query = { sql: withValues(text, values), rowsAsArray: true };
      yield* this.#attendance(connection).each(readStream<Row>(connection, query, size));
      await ask("COMMIT");
      await ask(`SET SESSION ${this.#idle}`);
      broken = false;
    } finally {
      // Also where the reader stops early: the transaction must not stay open.
      this.#end(connection, broken);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const connection of this.#busy) cutOff(connection);
    await endInTime(this.#pool.promise().end(), this.#open);
  }

  async #withConnection<T>(limits: WaitLimits, body: (ask: Ask) => Promise<T>): Promise<T> {
    const connection = await this.#connect(limits);
    let broken = false;
    try {
      return await body(this.#asking(connection, limits));
    } catch (error) {
      broken = !isAnswer(error);
      if (broken) this.#broken++;
      throw error;
    } finally {
      this.#end(connection, broken);
    }
  }

  async #connect(limits: WaitLimits): Promise<PoolConnection> {
    const connection = await this.#connected(limits);
    this.#busy.add(connection);
    try {
      if (!this.#threads.has(connection)) {
        const ask = this.#asking(connection, limits);
        await ask(`${SESSION}, ${this.#idle}`);
        await ask(ISOLATION);
        const [thread] = rowsOf<Thread>(await ask(WHO_AM_I));
        if (thread) this.#threads.set(connection, thread);
        const [largest] = rowsOf<{ bytes: number }>(await ask("SELECT @@max_allowed_packet AS bytes"));
        if (largest) this.#largest.set(connection, Number(largest.bytes));
      }
      return connection;
    } catch (error) {
      this.#broken++;
      this.#end(connection, true);
      throw error;
    }
  }

  /** Where nobody waits for the connection any more, it is given back as soon as it is there. */
  async #connected(limits: WaitLimits): Promise<PoolConnection> {
    const connecting = new Promise<PoolConnection>((resolve, reject) => {
      this.#pool.getConnection((error, connected) => (error ? reject(error) : resolve(connected)));
    });
    if (!limits.isRead) return connecting;
    try {
      return await unlessStopped(this.#options.stop, connecting, limits);
    } catch (error) {
      connecting.then(
        (connection) => connection.release(),
        () => {},
      );
      throw error;
    }
  }

  /** The server ends a session that it hears nothing of, and its transaction with it. */
  get #idle(): string {
    return `wait_timeout = ${Math.ceil(this.#options.idleMs / 1_000)}`;
  }

  #attendance(connection: PoolConnection): Attendance {
    const session = sessionOf(connection, this.#options, () => this.#threads.get(connection));
    return new Attendance(session, this.#options.patience, this.#options.stop);
  }

  #asking(connection: PoolConnection, limits: WaitLimits): Ask {
    const attendance = this.#attendance(connection);
    return async (text, values) => {
      const statement = withValues(text, values);
      // Over a larger one the server ends the connection, and nobody could tell whose row it was. One byte is the command's.
      const bytes = Buffer.byteLength(statement) + 1;
      const most = this.#largest.get(connection) ?? Number.POSITIVE_INFINITY;
      if (bytes > most) throw tooLarge(bytes, most);
      try {
        const ask = () => connection.promise().query<RowDataPacket[]>(statement);
        const [answer] = await attendance.wait(ask, limits);
        return answer;
      } catch (error) {
        // The driver puts the statement there, with the values, and a token may be one of them.
        if (error instanceof Error) Reflect.deleteProperty(error, "sql");
        throw error;
      }
    };
  }

  #end(connection: PoolConnection, broken: boolean): void {
    this.#busy.delete(connection);
    if (broken) cutOff(connection);
    else connection.release();
  }
}

/** Runs one statement on a connection that is waited for with a limit. */
type Ask = (text: string, values?: readonly unknown[]) => Promise<QueryResult>;

/** A statement that finds nothing answers with a header. */
const rowsOf = <Row extends object>(answer: QueryResult): Row[] =>
  Array.isArray(answer) ? (answer as unknown as Row[]) : [];

/** Whoever works in a transaction may have put words of its own around the driver's error. */
function hasBroken(error: unknown): boolean {
  const cause = error instanceof SyncError ? error.cause : error;
  return cause instanceof Error && !(cause instanceof SyncError) && !isAnswer(cause);
}
