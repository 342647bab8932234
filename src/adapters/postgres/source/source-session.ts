import type pg from "pg";
import { SessionWatchdog } from "../../sql/connection/session-watchdog.ts";
import { serverLockMs, withinLimits } from "../../sql/connection/wait-limits.ts";
import type { SourceOptions } from "../../sql/source/source-request.ts";
import type { SourceSession } from "../../sql/source/source-session.ts";
import { Client, connectionOptions } from "../connection/connection.ts";
import { inOneRoundTrip, reading } from "../connection/one-round-trip.ts";
import { BEGIN_SNAPSHOT, setLocally, textOrBytes, UNHURRIED } from "../connection/settings.ts";
import { type Backend, endInTime, WHO_AM_I, watchedSession } from "../connection/watched-session.ts";
import { readCursor } from "../database.ts";

/** Rows as arrays, and each value as the server writes it. */
const AS_TEXTS = { rowMode: "array", types: { getTypeParser: () => (text: string) => text } } as const;

/** A connection that reads the source. It waits for nothing without a limit. */
export class PostgresSourceSession implements SourceSession {
  readonly #client: Client;
  readonly #watchdog: SessionWatchdog;
  readonly #begin: string;
  readonly #look: ReturnType<typeof reading>;
  /** Of the transaction: a pooler may give each transaction another session of the server. */
  #backend: Backend | undefined;
  #isOpen = true;

  private constructor(options: SourceOptions, stop: AbortSignal) {
    const settings = {
      ...UNHURRIED,
      row_security: options.rowSecurity === "filter" ? "on" : "off",
      lock_timeout: String(serverLockMs(options.timeouts)),
    };
    this.#begin = `${BEGIN_SNAPSHOT}; ${setLocally(settings, textOrBytes("end of transaction"))}; ${WHO_AM_I}`;
    this.#look = reading(
      setLocally({ ...settings, transaction_read_only: "on" }, textOrBytes("end of transaction")),
    );
    this.#client = new Client(connectionOptions(options.url, options.applicationName));
    const session = watchedSession(this.#client, options, () => this.#backend);
    this.#watchdog = new SessionWatchdog(session, options.timeouts, stop);
  }

  static async open(options: SourceOptions, stop: AbortSignal): Promise<PostgresSourceSession> {
    const session = new PostgresSourceSession(options, stop);
    try {
      await withinLimits(stop, session.#client.connect());
      session.#client.insistOnVersion();
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.#isOpen && this.#client.lost === undefined;
  }

  async begin(): Promise<void> {
    const answers: unknown = await this.#wait(() => this.#client.query(this.#begin));
    this.#backend = (answers as pg.QueryResult<Backend>[]).at(-1)?.rows[0];
  }

  async commit(): Promise<void> {
    await this.#query("COMMIT");
    this.#backend = undefined;
  }

  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#query<Row>(sql, values)).rows;
  }

  /** What the server says of a query's columns. */
  async fields(sql: string): Promise<pg.FieldDef[]> {
    return (await this.#query(sql)).fields;
  }

  async describe(sql: string): Promise<string> {
    return JSON.stringify(await this.fields(sql));
  }

  async prepare(sql: string): Promise<void> {
    await this.query(`EXPLAIN ${sql}`);
  }

  async look<Row extends readonly unknown[]>(sql: string): Promise<Row[]> {
    const query = { text: sql, ...AS_TEXTS };
    const { rows } = await this.#wait(() => inOneRoundTrip<[...Row]>(this.#client, this.#look, query));
    return rows;
  }

  async rows<Row extends readonly unknown[]>(sql: string): Promise<Row[]> {
    const query = { text: sql, ...AS_TEXTS, queryMode: "extended" } as const;
    const { rows } = await this.#wait(() => this.#client.query<[...Row]>(query));
    return rows;
  }

  async *batches<Row extends readonly unknown[]>(sql: string, size: number): AsyncGenerator<Row[]> {
    try {
      yield* this.#watchdog.each(readCursor<Row>(this.#client, sql, [], AS_TEXTS, size));
    } catch (error) {
      throw this.#client.lost ?? error;
    }
  }

  close(): Promise<void> {
    this.#isOpen = false;
    return endInTime(this.#client);
  }

  async #wait<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await this.#watchdog.wait(ask);
    } catch (error) {
      throw this.#client.lost ?? error;
    }
  }

  /**
   * By the extended protocol, which takes one statement: the config's SQL can't add another and end the transaction.
   */
  #query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult<Row>> {
    const query: pg.QueryConfig & { queryMode: "extended" } = {
      text,
      values: [...values],
      queryMode: "extended",
    };
    return this.#wait(() => this.#client.query<Row & pg.QueryResultRow>(query));
  }
}
