import { type Connection, createConnection } from "mysql2";
import type { FieldPacket, RowDataPacket } from "mysql2/promise";
import { STEP, type WaitLimits, withinLimits } from "../../sql/connection/wait-limits.ts";
import type { SourceOptions, SourceSession } from "../../sql/source/source-dialect.ts";
import { connectionOptions, cutOff, endInTime } from "../connection/connection.ts";
import { Session } from "../connection/session.ts";
import { BEGIN_SNAPSHOT, EVERY_SESSION, lockLimits } from "../connection/settings.ts";

/**
 * Gives every value the same text whatever the server's settings are. The sql_mode keeps its other parts, because the
 * customer's SQL is written for them. max_sort_length is in bytes, and has to cover the longest id. The timeouts are in
 * seconds: the reader may pause for an hour.
 */
const SESSION = `SET SESSION ${EVERY_SESSION},
  autocommit = 1,
  sql_mode = REPLACE(@@SESSION.sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', ''),
  max_sort_length = 4096,
  net_write_timeout = 3600,
  wait_timeout = GREATEST(@@SESSION.wait_timeout, 3600)`;

/** A connection that reads the source. It waits for nothing without a limit. */
export class MysqlSourceSession implements SourceSession {
  readonly #connection: Connection;
  readonly #session: Session;
  #isReading = false;
  #isClosed = false;

  private constructor(options: SourceOptions, stop: AbortSignal) {
    this.#connection = createConnection({
      ...connectionOptions(options.url, options.applicationName),
      jsonStrings: true,
    });
    this.#session = new Session(this.#connection, { ...options, stop });
  }

  static async open(options: SourceOptions, stop: AbortSignal): Promise<MysqlSourceSession> {
    const session = new MysqlSourceSession(options, stop);
    try {
      await withinLimits(stop, session.#connection.promise().connect(), STEP);
      await session.#session.introduce(STEP);
      await session.#query(`${SESSION}, ${lockLimits(options.timeouts.lockMs)}`, STEP);
      await session.#query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", STEP);
      return session;
    } catch (error) {
      cutOff(session.#connection);
      throw error;
    }
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#session.isLost;
  }

  async begin(): Promise<void> {
    await this.#query(BEGIN_SNAPSHOT, STEP);
  }

  async commit(): Promise<void> {
    await this.#query("COMMIT", STEP);
  }

  async query<Row extends object>(sql: string): Promise<Row[]> {
    const [rows] = await this.#query<Row>(sql);
    return rows;
  }

  /** What the server says of a query's columns. */
  async fields(sql: string): Promise<FieldPacket[]> {
    const [, fields] = await this.#query(sql);
    return fields;
  }

  async describe(sql: string): Promise<string> {
    const [, fields] = await this.#query(sql, STEP);
    return JSON.stringify(
      fields.map(({ name, columnType, columnLength, decimals, flags, ...more }) => [
        name,
        columnType,
        columnLength,
        decimals,
        flags,
        more.extendedTypeName,
        more.extendedFormat,
      ]),
    );
  }

  async rows<Row extends readonly unknown[]>(sql: string, limits: WaitLimits): Promise<Row[]> {
    this.#isReading = true;
    try {
      const ask = () => this.#connection.promise().query<(Row & RowDataPacket)[]>({ sql, rowsAsArray: true });
      const [rows] = await this.#session.wait(ask, limits);
      return rows;
    } finally {
      this.#isReading = false;
    }
  }

  /** With autocommit, each statement outside of a transaction is one. */
  rowsAlone<Row extends readonly unknown[]>(sql: string): Promise<Row[]> {
    return this.rows(sql, STEP);
  }

  async *batches<Row extends readonly unknown[]>(sql: string, size: number): AsyncGenerator<Row[]> {
    this.#isReading = true;
    try {
      yield* this.#session.batches<Row>({ sql, rowsAsArray: true }, size);
    } finally {
      this.#isReading = false;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // During a read, a graceful end would wait for rows that nobody takes any more.
    if (this.#isReading) cutOff(this.#connection);
    else await endInTime(this.#connection.promise().end(), [this.#connection]);
  }

  #query<Row extends object>(
    sql: string,
    limits?: WaitLimits,
  ): Promise<[(Row & RowDataPacket)[], FieldPacket[]]> {
    const ask = () => this.#connection.promise().query<(Row & RowDataPacket)[]>(sql);
    return this.#session.wait(ask, limits);
  }
}
