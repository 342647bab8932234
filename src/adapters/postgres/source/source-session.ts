import type pg from "pg";
import type { SessionWaits } from "../../sql/connection/session-waits.ts";
import { STEP, type WaitLimits, withinLimits } from "../../sql/connection/wait-limits.ts";
import type { SourceOptions, SourceSession } from "../../sql/source/source-dialect.ts";
import { Client, connectionOptions, endInTime } from "../connection/connection.ts";
import { inOneRoundTrip } from "../connection/one-round-trip.ts";
import { readCursor, sessionWaits } from "../connection/session.ts";
import { BEGIN_SNAPSHOT, setLocally, textOrBytes, UNHURRIED } from "../connection/settings.ts";

/** Rows as arrays, and each value as the server writes it. */
const AS_TEXTS = { rowMode: "array", types: { getTypeParser: () => (text: string) => text } } as const;

/** A connection that reads the source. It waits for nothing without a limit. */
export class PostgresSourceSession implements SourceSession {
  readonly #client: Client;
  readonly #session: SessionWaits;
  readonly #begin: readonly string[];
  #isOpen = true;

  private constructor(options: SourceOptions, stop: AbortSignal) {
    const settings = {
      ...UNHURRIED,
      row_security: options.rowSecurity === "filter" ? "on" : "off",
      lock_timeout: String(options.timeouts.lockMs),
    };
    this.#begin = [BEGIN_SNAPSHOT, setLocally(settings, textOrBytes("end of transaction"))];
    this.#client = new Client(connectionOptions(options.url, options.applicationName));
    this.#session = sessionWaits(this.#client, { ...options, stop });
  }

  static async open(options: SourceOptions, stop: AbortSignal): Promise<PostgresSourceSession> {
    const session = new PostgresSourceSession(options, stop);
    try {
      await withinLimits(stop, session.#client.connect(), STEP);
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
    await this.#session.wait(() => this.#client.query(this.#begin.join("; ")), STEP);
  }

  async commit(): Promise<void> {
    await this.#query("COMMIT", [], STEP);
  }

  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#query<Row>(sql, values)).rows;
  }

  /** What the server says of a query's columns. */
  async fields(sql: string): Promise<pg.FieldDef[]> {
    return (await this.#query(sql)).fields;
  }

  async describe(sql: string): Promise<string> {
    return JSON.stringify((await this.#query(sql, [], STEP)).fields);
  }

  async rows<Row extends readonly unknown[]>(sql: string, limits: WaitLimits): Promise<Row[]> {
    const query = { text: sql, ...AS_TEXTS, queryMode: "extended" } as const;
    const { rows } = await this.#session.wait(() => this.#client.query<[...Row]>(query), limits);
    return rows;
  }

  async rowsAlone<Row extends readonly unknown[]>(sql: string): Promise<Row[]> {
    const transaction = { before: this.#begin, after: ["COMMIT"] };
    const ask = () => inOneRoundTrip<[...Row]>(this.#client, transaction, { text: sql, ...AS_TEXTS });
    return (await this.#session.wait(ask, STEP)).rows;
  }

  batches<Row extends readonly unknown[]>(sql: string, size: number): AsyncGenerator<Row[]> {
    return this.#session.each(readCursor<Row>(this.#client, sql, [], AS_TEXTS, size));
  }

  close(): Promise<void> {
    this.#isOpen = false;
    return endInTime(this.#client);
  }

  /**
   * By the extended protocol, which takes one statement: the config's SQL can't add another and end the transaction.
   */
  #query<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    limits?: WaitLimits,
  ): Promise<pg.QueryResult<Row>> {
    const query: pg.QueryConfig & { queryMode: "extended" } = {
      text,
      values: [...values],
      queryMode: "extended",
    };
    return this.#session.wait(() => this.#client.query<Row & pg.QueryResultRow>(query), limits);
  }
}
