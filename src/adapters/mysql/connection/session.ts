import type { Readable } from "node:stream";
import { type Connection, createConnection, type QueryOptions, type RowDataPacket } from "mysql2";
import type { Connection as Asking } from "mysql2/promise";
import { databaseHost } from "../../../core/tls/database-tls.ts";
import { insistOnVersion } from "../../sql/connection/server-version.ts";
import { type SessionOptions, SessionWaits } from "../../sql/connection/session-waits.ts";
import { FAREWELL, type WaitLimits, withTimeout } from "../../sql/connection/wait-limits.ts";
import { connectionOptions, cutOff, endInTime, socketOf } from "./connection.ts";
import { failures } from "./failures.ts";

/** A session as the server itself has it: a proxy in between has ids and a version of its own. */
interface Thread {
  readonly id: number;
  /** Identifies the server: behind a load balancer, another connection may lead to another server. */
  readonly server: string;
  readonly version: string;
}

const WHO_AM_I =
  "SELECT CONNECTION_ID() AS id, CONCAT(@@hostname, ':', @@port) AS server, VERSION() AS version";

/** One connection, which waits for nothing without a limit. The pool and the source use it alike. */
export class Session {
  readonly #connection: Connection;
  readonly #options: SessionOptions;
  readonly #waits: SessionWaits;
  #thread: Thread | undefined;
  #lost: Error | undefined;

  constructor(connection: Connection, options: SessionOptions) {
    this.#connection = connection;
    this.#options = options;
    connection.on("error", (error) => {
      this.#lost ??= error;
    });
    const waiting = {
      socket: () => socketOf(connection),
      lost: () => this.#lost,
      waitsFor: () => this.#waitsFor(),
      cut: () => this.cut(),
      isLockTimeout: failures.isLockTimeout,
    };
    this.#waits = new SessionWaits(waiting, options);
  }

  /** Asks the server who this session is. Call before anything else. Throws DATABASE_TOO_OLD. */
  async introduce(limits?: WaitLimits): Promise<void> {
    const [[thread]] = await this.wait(
      () => this.#connection.promise().query<(Thread & RowDataPacket)[]>(WHO_AM_I),
      limits,
    );
    const version = thread?.version ?? "";
    const product = /mariadb/i.test(version) ? "MariaDB" : "MySQL";
    insistOnVersion(product, version, databaseHost("mysql", this.#options.url.reveal()));
    this.#thread = thread;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** See `SessionWaits.wait`. */
  wait<T>(ask: () => Promise<T>, limits?: WaitLimits): Promise<T> {
    return this.#waits.wait(ask, limits);
  }

  /** Reads a query to its end, in batches of at most `size`. If the reader stops early, ends the connection. */
  batches<Row extends readonly unknown[]>(query: QueryOptions, size: number): AsyncGenerator<Row[]> {
    return this.#waits.each(readStream<Row>(this.#connection, query, size));
  }

  /** Ends the connection at once, and its session at the server: while a server sorts, it doesn't notice such an end. */
  cut(): void {
    cutOff(this.#connection);
    void this.#onAnother((asking, { id }) => asking.query(`KILL ${id}`));
  }

  async #waitsFor(): Promise<string> {
    return (await this.#onAnother((asking, { id }) => lockHolders(asking, id))) ?? "";
  }

  /** Runs `body` on another connection to this session's server. Undefined if there is none, or if `body` fails. */
  async #onAnother<T>(body: (asking: Asking, session: Thread) => Promise<T>): Promise<T | undefined> {
    const session = this.#thread;
    if (!session) return undefined;
    const { url, applicationName } = this.#options;
    const connection = createConnection({
      ...connectionOptions(url, applicationName),
      connectTimeout: FAREWELL,
    });
    connection.on("error", () => {});
    const ask = async (): Promise<T | undefined> => {
      const asking = connection.promise();
      const [[here]] = await asking.query<(Thread & RowDataPacket)[]>(WHO_AM_I);
      return here?.server === session.server ? body(asking, session) : undefined;
    };
    try {
      return await withTimeout(FAREWELL, ask());
    } catch {
      return undefined;
    } finally {
      void endInTime(connection.promise().end(), [connection]);
    }
  }
}

/** Reads a query to its end, a batch at a time. If the reader stops early, or after an error, ends the connection. */
async function* readStream<Row extends readonly unknown[]>(
  connection: Connection,
  query: QueryOptions,
  size: number,
): AsyncGenerator<Row[]> {
  let lost: Error | undefined;
  let stream: Readable | undefined;
  // If the connection is lost, the driver tells only the connection's listeners: without this one, the stream would
  // never end.
  const onLost = (error: Error): void => {
    lost = error;
    stream?.destroy(error);
  };
  connection.once("error", onLost);
  stream = connection.query(query).stream({ highWaterMark: size });
  if (lost) stream.destroy(lost);
  let isAtEnd = false;
  try {
    let batch: Row[] = [];
    for await (const row of stream) {
      batch.push(row);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
    isAtEnd = true;
  } finally {
    connection.off("error", onLost);
    if (!isAtEnd) cutOff(connection);
  }
}

/** A row of SHOW PROCESSLIST, without the statement's text, which may hold secrets. */
interface Process extends RowDataPacket {
  readonly Id: number | string;
  readonly User: string;
  readonly Host: string;
  readonly db: string | null;
  readonly Command: string;
  readonly Time: number | string | null;
  readonly State: string | null;
}

/** Who holds the row or the table that a session waits for. */
const HOLDERS = `SELECT blocking_pid AS id FROM sys.innodb_lock_waits WHERE waiting_pid = ?
  UNION SELECT blocking_pid FROM sys.schema_table_lock_waits WHERE waiting_pid = ? AND blocking_pid <> waiting_pid`;

const WAITING = /^Waiting for .*(lock|flush)|^User lock$/i;
const MOST_GUESSES = 4;

/** Who keeps the session with this id waiting, in words. Empty if the server shows no lock that the session waits for. */
async function lockHolders(connection: Asking, id: number): Promise<string> {
  const [[me]] = await connection.query<RowDataPacket[]>("SELECT CONNECTION_ID() AS id");
  const [processes] = await connection.query<Process[]>("SHOW PROCESSLIST");
  const ours = processes.find((one) => Number(one.Id) === id);
  // Not every server has these views, and not every user may read them.
  const held = await connection.query<RowDataPacket[]>(HOLDERS, [id, id]).then(
    ([rows]) => rows.map((row) => Number(row.id)),
    () => [],
  );
  if (held.length > 0) {
    const texts = held.map((holder) => {
      const listed = processes.find((one) => Number(one.Id) === holder);
      return listed ? processText(listed) : `session ${holder}`;
    });
    return `held by ${texts.join("; ")}`;
  }
  if (!ours || !WAITING.test(ours.State ?? "")) return "";
  const others = processes
    .filter((other) => other.db === ours.db && ![id, Number(me?.id)].includes(Number(other.Id)))
    .toSorted((a, b) => Number(b.Time) - Number(a.Time))
    .slice(0, MOST_GUESSES);
  if (others.length === 0) return `${ours.State}: this user may not see who holds it`;
  return `${ours.State}: the server doesn't tell who holds it; it may be ${others.map(processText).join(" or ")}`;
}

const processText = ({ Id, User, Host, Command, Time }: Process): string =>
  `session ${Id} (user ${User} at ${Host}, ${Command} for ${Number(Time)} s)`;
