import {
  createPool,
  type Pool,
  type PoolConnection,
  type QueryResult,
  type ResultSetHeader,
  type RowDataPacket,
} from "mysql2";
import { type InTransaction, retryDeadlocks } from "../sql/connection/connections.ts";
import {
  LONG_READ,
  ofPool,
  SHORT_READ,
  STEP,
  type WaitLimits,
  WRITE,
} from "../sql/connection/wait-limits.ts";
import type { Database, DatabaseOptions } from "../sql/dialect/database.ts";
import { connectionOptions, cutOff, endInTime } from "./connection/connection.ts";
import { isAnswer, isUnprivileged, tooLarge } from "./connection/failures.ts";
import { Session } from "./connection/session.ts";
import { EVERY_SESSION, lockLimits } from "./connection/settings.ts";
import { columnValue, withValues } from "./connection/statement.ts";
import { mysql as dialect } from "./dialect.ts";

/** In milliseconds: the pool ends a connection that is idle for longer, before the server does. */
const IDLE_TIMEOUT = 20_000;

/** Keeps statements out of the server's slow log, because their text holds tokens. */
const NOT_IN_SLOW_LOG = "long_query_time = 31536000";
/** Keeps out those that the server would log because they use no index, too. MySQL 9.7 wants a privilege for it. */
const NOR_WITHOUT_INDEX = "min_examined_row_limit = 4294967295";

/**
 * The settings that the dialect's statements need, whatever the server's defaults are. A COMMIT must neither begin a
 * transaction nor end the session.
 */
const SESSION = `SET SESSION ${EVERY_SESSION}, sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  autocommit = 1, completion_type = NO_CHAIN, sql_safe_updates = 0,
  foreign_key_checks = 1, unique_checks = 1, ${NOT_IN_SLOW_LOG}`;
/** For a stream, in seconds. Its reader may wait an hour for the source. Its transaction locks nobody out. */
const UNHURRIED = "wait_timeout = 3600, net_write_timeout = 3600";
/** What a session has to know of its server. `wsrep_on` is ON on a node of a Galera cluster. */
const VARIABLES = "SHOW VARIABLES WHERE variable_name IN ('max_allowed_packet', 'wsrep_on')";
/**
 * Each transaction, and each statement outside of one, first waits until the node has what was committed on other nodes.
 * Otherwise it could read a lease, or a token, of a moment ago.
 */
const IN_STEP = "SET SESSION wsrep_sync_wait = 15";
const TRANSACTIONS = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

export class MysqlDatabase implements Database {
  readonly dialect = dialect;
  /** MySQL has no search_path. */
  readonly byRolesPath = this;
  readonly #pool: Pool;
  readonly #options: DatabaseOptions;
  readonly #open = new Set<PoolConnection>();
  readonly #busy = new Set<PoolConnection>();
  /** The connections that are set up. */
  readonly #sessions = new WeakMap<PoolConnection, PooledSession>();
  #closed = false;

  constructor(options: DatabaseOptions) {
    const { url, applicationName, maxConnections } = options;
    this.#options = options;
    this.#pool = createPool({
      ...connectionOptions(url, applicationName),
      connectionLimit: maxConnections,
      // Once a second the driver closes the idle connections beyond this number. It closes none, not even after
      // `idleTimeout`, if this number isn't below the limit.
      maxIdle: maxConnections - 1,
      idleTimeout: IDLE_TIMEOUT,
      timezone: "Z",
      // As `Queryable` promises: 64-bit integers as text.
      supportBigNumbers: true,
      bigNumberStrings: true,
      typeCast: columnValue,
      // Statements have their values already. The driver would look through each of them for its own placeholders.
      queryFormat: (statement: string) => statement,
    });
    this.#pool.on("connection", (connection) => {
      this.#open.add(connection);
      connection.once("end", () => this.#open.delete(connection));
      // Emitted if an idle connection breaks. If a statement is under way, the statement gets the error. A further error
      // of the same connection would end the process if nobody listened.
      connection.on("error", () => {});
    });
  }

  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#withConnection(SHORT_READ, async (ask) => rowsOf(await ask<Rows<Row>>(text, values)));
  }

  write<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#withConnection(WRITE, async (ask) => rowsOf(await ask<Rows<Row>>(text, values)));
  }

  change(text: string, values?: readonly unknown[]): Promise<number> {
    return this.#withConnection(WRITE, async (ask) => {
      const { affectedRows } = await ask<ResultSetHeader>(text, values);
      return affectedRows;
    });
  }

  transaction<T>(
    begin: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits: WaitLimits = WRITE,
  ): Promise<T> {
    return retryDeadlocks(dialect, (isLast) => this.#transaction(begin, body, limits, isLast));
  }

  async #transaction<T>(
    begin: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits: WaitLimits,
    isLastAttempt: boolean,
  ): Promise<T> {
    const pooled = await this.#connect(limits);
    const ask = this.#asking(pooled, limits);
    let broken = true;
    try {
      let begun: readonly object[] = [];
      for (const statement of begin) begun = rowsOf(await ask<Rows<object>>(statement));
      const query = async <Row extends object>(text: string, values?: readonly unknown[]) =>
        rowsOf(await ask<Rows<Row>>(text, values));
      const result = await body({ query, isLastAttempt }, begun);
      await ask("COMMIT");
      broken = false;
      return result;
    } finally {
      // Close a broken connection instead of sending ROLLBACK: that works even if the server no longer answers.
      this.#end(pooled.connection, broken);
    }
  }

  async *stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    const pooled = await this.#connect(LONG_READ);
    const ask = this.#asking(pooled, STEP);
    let broken = true;
    try {
      await ask(`SET SESSION ${UNHURRIED}`);
      for (const statement of begin) await ask(statement);
      const query = { sql: withValues(text, values), rowsAsArray: true };
      yield* pooled.session.batches<Row>(query, size);
      await ask("COMMIT");
      await ask(`SET SESSION ${this.#idle}`);
      broken = false;
    } finally {
      // Runs even if the reader stops early: the transaction must not stay open.
      this.#end(pooled.connection, broken);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const connection of this.#busy) cutOff(connection);
    await endInTime(this.#pool.promise().end(), this.#open);
  }

  /** For a statement in a transaction of its own. A node of a cluster gives up reads too, for another node's ALTER TABLE. */
  #withConnection<T>(limits: WaitLimits, body: (ask: Ask) => Promise<T>): Promise<T> {
    return retryDeadlocks(dialect, async () => {
      const pooled = await this.#connect(limits);
      let broken = false;
      try {
        return await body(this.#asking(pooled, limits));
      } catch (error) {
        broken = !isAnswer(error);
        throw error;
      } finally {
        this.#end(pooled.connection, broken);
      }
    });
  }

  /** A connection that is set up, and on which the server has these limits for locks. */
  async #connect(limits: WaitLimits): Promise<PooledSession> {
    const connection = await this.#connected(limits);
    this.#busy.add(connection);
    try {
      let pooled = this.#sessions.get(connection);
      if (!pooled) {
        pooled = await this.#setUp(connection, limits);
        this.#sessions.set(connection, pooled);
      }
      const { lockMs = this.#options.timeouts.lockMs } = limits;
      if (pooled.lockMs !== lockMs) {
        await this.#asking(pooled, limits)(`SET SESSION ${lockLimits(lockMs)}`);
        pooled.lockMs = lockMs;
      }
      return pooled;
    } catch (error) {
      this.#end(connection, true);
      throw error;
    }
  }

  async #setUp(connection: PoolConnection, limits: WaitLimits): Promise<PooledSession> {
    const session = new Session(connection, this.#options);
    await session.introduce(limits);
    const { lockMs } = this.#options.timeouts;
    const pooled = { connection, session, lockMs, maxPacket: Number.POSITIVE_INFINITY };
    const ask = this.#asking(pooled, limits);
    const settings = `${SESSION}, ${lockLimits(lockMs)}, ${this.#idle}`;
    await ask(`${settings}, ${NOR_WITHOUT_INDEX}`).catch((error: unknown) => {
      if (!isUnprivileged(error)) throw error;
      return ask(settings);
    });
    await ask(TRANSACTIONS);
    const variables = new Map(
      rowsOf(await ask<Rows<Variable>>(VARIABLES)).map(({ Variable_name, Value }) => [Variable_name, Value]),
    );
    if (variables.get("wsrep_on") === "ON") await ask(IN_STEP);
    pooled.maxPacket = Number(variables.get("max_allowed_packet"));
    return pooled;
  }

  #connected(limits: WaitLimits): Promise<PoolConnection> {
    const connecting = new Promise<PoolConnection>((resolve, reject) => {
      this.#pool.getConnection((error, connected) => (error ? reject(error) : resolve(connected)));
    });
    return ofPool(this.#options.stop, connecting, limits);
  }

  /** If this process stands still for longer, the server ends its session and the session's transaction. */
  get #idle(): string {
    return `wait_timeout = ${Math.ceil(this.#options.idleMs / 1_000)}`;
  }

  #asking({ connection, session, maxPacket }: PooledSession, limits: WaitLimits): Ask {
    return async <Answer extends QueryResult>(text: string, values?: readonly unknown[]) => {
      const statement = withValues(text, values);
      // Don't send a statement that is too large: the server would end the connection, and no error would tell which
      // row is at fault. The command takes one more byte.
      const bytes = Buffer.byteLength(statement) + 1;
      if (bytes > maxPacket) throw tooLarge(bytes, maxPacket);
      try {
        const ask = () => connection.promise().query<Answer>(statement);
        const [answer] = await session.wait(ask, limits);
        return answer;
      } catch (error) {
        // The driver puts the statement there, and a token may be in the statement.
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

interface PooledSession {
  readonly connection: PoolConnection;
  readonly session: Session;
  /** The limit for waits for a lock that the server has been told last. */
  lockMs: number;
  /** The largest statement that the server takes, in bytes. */
  readonly maxPacket: number;
}

/** Runs one statement, and waits for its answer no longer than the limits allow. */
type Ask = <Answer extends QueryResult>(text: string, values?: readonly unknown[]) => Promise<Answer>;

interface Variable {
  readonly Variable_name: string;
  readonly Value: string;
}

type Rows<Row extends object> = (Row & RowDataPacket)[];

/** For a statement without rows, the driver returns a header instead of a list. */
const rowsOf = <Row extends object>(answer: Rows<Row>): Row[] => (Array.isArray(answer) ? answer : []);
