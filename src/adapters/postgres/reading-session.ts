import pg from "pg";
import { Attendance, unlessStopped } from "../sql/attendance.ts";
import type { SourceOptions } from "../sql/source-query.ts";
import { type Backend, endInTime, sessionOf, WHO_AM_I } from "./attended-session.ts";
import { connectionOptions } from "./connection.ts";
import { readCursor } from "./database.ts";

/** The connection of one read of the source, in its transaction. Nothing that is asked here is waited for without a limit. */
export class ReadingSession {
  readonly #client: pg.Client;
  readonly #attendance: Attendance;

  private constructor(client: pg.Client, attendance: Attendance) {
    this.#client = client;
    this.#attendance = attendance;
  }

  /** `begin` opens the transaction. Rejects with INTERRUPTED, as all methods do, once the signal aborts. */
  static async open(options: SourceOptions, begin: string, stop: AbortSignal): Promise<ReadingSession> {
    const client = new pg.Client(connectionOptions(options.url, options.applicationName));
    // A broken connection rejects the query that waits on it.
    client.on("error", () => {});
    let backend: Backend | undefined;
    const session = sessionOf(client, options, () => backend);
    try {
      await unlessStopped(stop, client.connect());
      const attendance = new Attendance(session, options.patience, stop);
      const answers: unknown = await attendance.wait(() => client.query(`${begin}; ${WHO_AM_I}`));
      backend = (answers as pg.QueryResult<Backend>[]).at(-1)?.rows[0];
      return new ReadingSession(client, attendance);
    } catch (error) {
      await endInTime(client);
      throw error;
    }
  }

  /** By the extended protocol, which takes one statement: the config's SQL can't add another and end the transaction. */
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<pg.QueryResult<Row>> {
    const query: pg.QueryConfig & { queryMode: "extended" } = { text, values, queryMode: "extended" };
    return this.#attendance.wait(() => this.#client.query<Row>(query));
  }

  batches<Row extends readonly unknown[]>(
    text: string,
    values: readonly unknown[],
    config: Parameters<typeof readCursor>[3],
    size: number,
  ): AsyncGenerator<Row[]> {
    return this.#attendance.each(readCursor<Row>(this.#client, text, values, config, size));
  }

  /** Ends the transaction with the connection: there is nothing to commit. */
  close(): Promise<void> {
    return endInTime(this.#client);
  }
}
