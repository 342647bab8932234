import { connect, isIP, Socket } from "node:net";
import type { Readable } from "node:stream";
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type QueryOptions,
  type RowDataPacket,
} from "mysql2";
import type { Connection as Asking } from "mysql2/promise";
import type { Secret } from "../../../core/secret/secret.ts";
import { databaseHost } from "../../../core/tls/database-tls.ts";
import { insistOnVersion } from "../../sql/connection/server-version.ts";
import { tlsSettings } from "../../sql/connection/tls.ts";
import {
  NoAnswer,
  type SessionTimeouts,
  SessionWaits,
  type WaitLimits,
  withTimeout,
} from "../../sql/connection/wait-limits.ts";
import { failures } from "./failures.ts";
import { lockHolders } from "./lock-holders.ts";

const DEFAULT_PORT = 3306;

/**
 * The options of every connection. The driver doesn't see the url's parameters, because it would take its own options
 * from them. Throws SyncError `CONFIG_TLS` if the url asks for TLS that can't be had.
 */
export function connectionOptions(url: Secret, applicationName: string): ConnectionOptions {
  const { hostname, port, username, password, pathname } = new URL(url.reveal());
  const database = decodeURIComponent(pathname.slice(1));
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    host,
    port: port === "" ? DEFAULT_PORT : Number(port),
    ...tlsOptions(url, host),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    ...(database !== "" && { database }),
    charset: "utf8mb4",
    connectTimeout: 10_000,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000,
    multipleStatements: false,
    // IGNORE_SPACE makes the names of functions reserved words; LOCAL_FILES lets the server ask for files of this host.
    flags: ["-IGNORE_SPACE", "-LOCAL_FILES"],
    // The server shows this in performance_schema.session_connect_attrs.
    connectAttributes: { program_name: applicationName },
  };
}

/** How long the end of a connection or of a statement, or a question about a lock may take, in milliseconds. */
const FAREWELL = 5_000;

/** Ends the connection at once. The driver alone would close its own half and go on receiving. */
export function cutOff(connection: Connection): void {
  connection.destroy();
  socketOf(connection)?.destroy();
}

const socketOf = (connection: Connection): Socket | undefined =>
  "stream" in connection && connection.stream instanceof Socket ? connection.stream : undefined;

/**
 * Closes connections politely, because the server counts and logs the others as aborted. Cuts off the connections that
 * are still open after `FAREWELL`. Never rejects.
 */
export async function endInTime(ended: Promise<void>, connections: Iterable<Connection>): Promise<void> {
  await withTimeout(FAREWELL, ended).catch(() => {});
  for (const connection of connections) cutOff(connection);
}

/**
 * Settings of every session, whatever the server's settings and its `init_connect` say. A server may use another
 * character set than the connection asked for. A `sql_select_limit` would look like the end of the rows. MariaDB alone,
 * which reads the comment, has limits for idle transactions beside `wait_timeout`.
 */
export const EVERY_SESSION = `
  character_set_client = utf8mb4, character_set_connection = utf8mb4, character_set_results = utf8mb4,
  time_zone = '+00:00',
  sql_select_limit = 18446744073709551615, sql_big_selects = 1
  /*M!, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0 */`;

/** Opens a transaction that reads the data of one point in time, in a session whose transactions are REPEATABLE READ. */
export const BEGIN_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/** Opens a transaction that reads the data of one point in time. */
export const SNAPSHOT = ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", BEGIN_SNAPSHOT] as const;

/** Has the server end waits for a lock of a row or a table. It counts in seconds. */
export function lockLimits(lockMs: number): string {
  const seconds = Math.ceil(lockMs / 1_000);
  return `innodb_lock_wait_timeout = ${seconds}, lock_wait_timeout = ${seconds}`;
}

export interface SessionOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly timeouts: SessionTimeouts;
  readonly stop: AbortSignal;
}

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
      waitsFor: () => this.#waitsFor(),
      cut: () => this.cut(),
      isLockTimeout: failures.isLockTimeout,
    };
    this.#waits = new SessionWaits(waiting, options.timeouts, options.stop);
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

  /** See `SessionWaits.wait`. If the connection was lost, rejects with the reason. */
  async wait<T>(ask: () => Promise<T>, limits?: WaitLimits): Promise<T> {
    try {
      return await this.#waits.wait(ask, limits);
    } catch (error) {
      throw this.#reason(error);
    }
  }

  /** Reads a query to its end, in batches of at most `size`. If the reader stops early, ends the connection. */
  async *batches<Row extends readonly unknown[]>(query: QueryOptions, size: number): AsyncGenerator<Row[]> {
    try {
      yield* this.#waits.each(readStream<Row>(this.#connection, query, size));
    } catch (error) {
      throw this.#reason(error);
    }
  }

  /** A connection that was cut is lost too, but that is no reason. Later statements fail with "connection is closed". */
  #reason(error: unknown): unknown {
    return error instanceof NoAnswer ? error : (this.#lost ?? error);
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

/**
 * What of the options makes TLS, as the url asks for. If the host is an IP address, the driver gives Node.js no host, and
 * Node.js then expects a certificate for "localhost". The driver takes an address with a dot at its end for a name. Node.js
 * ignores the dot when it compares the certificate.
 */
function tlsOptions(url: Secret, host: string): ConnectionOptions {
  const tls = tlsSettings("mysql", url);
  if (tls.kind === "off") return {};
  const ssl = {
    ...tls.pem,
    rejectUnauthorized: tls.verify !== "none",
    verifyIdentity: tls.verify === "full",
  };
  if (isIP(host) === 0 || !ssl.verifyIdentity) return { ssl };
  const port = Number(new URL(url.reveal()).port || DEFAULT_PORT);
  const stream = () => connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 });
  return { host: `${host}.`, stream, ssl };
}
