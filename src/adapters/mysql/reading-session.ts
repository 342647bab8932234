import { type Connection, createConnection, type QueryOptions, type RowDataPacket } from "mysql2";
import type { FieldPacket } from "mysql2/promise";
import { Attendance, unlessStopped } from "../sql/attendance.ts";
import type { SourceOptions } from "../sql/source-query.ts";
import { sessionOf, type Thread, WHO_AM_I } from "./attended-session.ts";
import { connectionOptions } from "./connection.ts";
import { cutOff, endInTime } from "./cut-off.ts";
import { readStream } from "./read-stream.ts";

/** The connection of one read of the source, in its transaction. Nothing that is asked here is waited for without a limit. */
export class ReadingSession {
  readonly #connection: Connection;
  readonly #attendance: Attendance;
  #thread: Thread | undefined;
  #isReading = false;
  /** Whoever asks a connection that is lost hears no more than that it is closed. */
  #lost: Error | undefined;

  private constructor(options: SourceOptions, stop: AbortSignal) {
    this.#connection = createConnection({
      ...connectionOptions(options.url, options.applicationName),
      jsonStrings: true,
    });
    this.#connection.on("error", (error) => {
      this.#lost ??= error;
    });
    const session = sessionOf(this.#connection, options, () => this.#thread);
    this.#attendance = new Attendance(session, options.patience, stop);
  }

  /** `begin` opens the transaction. Rejects with INTERRUPTED, as all methods do, once the signal aborts. */
  static async open(
    options: SourceOptions,
    begin: readonly string[],
    stop: AbortSignal,
  ): Promise<ReadingSession> {
    const session = new ReadingSession(options, stop);
    try {
      await unlessStopped(stop, session.#told(session.#connection.promise().connect()));
      const [[thread]] = await session.query<Thread & RowDataPacket>(WHO_AM_I);
      session.#thread = thread;
      for (const statement of begin) await session.query(statement);
      return session;
    } catch (error) {
      cutOff(session.#connection);
      throw error;
    }
  }

  query<Row extends RowDataPacket>(sql: string): Promise<[Row[], FieldPacket[]]> {
    return this.#told(this.#attendance.wait(() => this.#connection.promise().query<Row[]>(sql)));
  }

  /** Has the server look through a statement, without running it. */
  async prepare(sql: string): Promise<void> {
    const prepared = await this.#told(this.#attendance.wait(() => this.#connection.promise().prepare(sql)));
    await prepared.close();
  }

  async *batches<Row extends readonly unknown[]>(query: QueryOptions, size: number): AsyncGenerator<Row[]> {
    this.#isReading = true;
    try {
      yield* this.#attendance.each(readStream<Row>(this.#connection, query, size));
    } catch (error) {
      throw this.#lost ?? error;
    } finally {
      this.#isReading = false;
    }
  }

  /** Ends the transaction with the connection: there is nothing to commit. */
  async close(): Promise<void> {
    // A farewell would wait for the rows that nobody takes any more.
    if (this.#isReading) cutOff(this.#connection);
    else await endInTime(this.#connection.promise().end(), [this.#connection]);
  }

  async #told<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw this.#lost ?? error;
    }
  }
}
