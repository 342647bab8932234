import { connect, Socket } from "node:net";
import pg, { type ClientConfig } from "pg";
import type { Secret } from "../../../core/secret/secret.ts";
import { databaseHost, tlsParameters } from "../../../core/tls/database-tls.ts";
import { insistOnVersion } from "../../sql/connection/server-version.ts";
import { type TlsSettings, tlsSettings } from "../../sql/connection/tls.ts";
import {
  NoAnswer,
  type SessionTimeouts,
  SessionWaits,
  type WaitLimits,
  withTimeout,
} from "../../sql/connection/wait-limits.ts";
import { failures } from "./failures.ts";
import { inOneRoundTrip, reading } from "./one-round-trip.ts";
import { PINNED_PATH, setLocally } from "./settings.ts";

/** How long the end of a connection, a request to cancel or a question about a lock may take, in milliseconds. */
const FAREWELL = 5_000;
/** In milliseconds: until then a statement that was sent has reached the server. */
const CANCEL_AGAIN = 500;

/**
 * Stands before each statement. If pgpool balances loads, it has such a statement run by the primary. Otherwise a standby
 * would read a lease or a token as it was a moment ago, and without the settings of the transaction, which the primary has.
 */
const ON_PRIMARY = "/*NO LOAD BALANCE*/ ";

/** A connection that knows which version its server has, and why it was lost. */
export class Client extends pg.Client {
  #version = "";
  #lost: Error | undefined;

  constructor(config?: ClientConfig) {
    super(config);
    // Without a listener a broken connection would end the process. The waiting query rejects in any case.
    this.on("error", (error) => {
      this.#lost ??= error;
    });
    // The server says so while the connection is opened.
    this.connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (parameterName === "server_version") this.#version = parameterValue;
    });
    const { connection } = this;
    const query = connection.query.bind(connection);
    const parse = connection.parse.bind(connection);
    connection.query = (text) => query(ON_PRIMARY + text);
    connection.parse = (statement, more) => parse({ ...statement, text: ON_PRIMARY + statement.text }, more);
  }

  /** Why the connection was lost. Later statements fail with no more than "Client has encountered a connection error". */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Throws DATABASE_TOO_OLD. Call once the connection is open. */
  insistOnVersion(): void {
    insistOnVersion("PostgreSQL", this.#version, this.host);
  }
}

/** The options of every connection. Throws SyncError `CONFIG_TLS` if the url asks for TLS that can't be had. */
export function connectionOptions(url: Secret, applicationName: string): ClientConfig {
  const tls = tlsSettings("postgres", url);
  const bare = new URL(url.reveal());
  // The driver would read the TLS parameters itself, print a warning on stderr, and throw bare errors of the file
  // system.
  for (const name of tlsParameters("postgres")) bare.searchParams.delete(name);
  // Name a host in any case: otherwise the driver takes PGHOST, and the TLS settings were made for another host.
  if (bare.hostname === "") bare.searchParams.set("host", databaseHost("postgres", url.reveal()));
  return {
    connectionString: bare.href,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // Set both in any case: otherwise the driver takes PGSSLMODE and PGSSLNEGOTIATION.
    ssl: driverTls(tls),
    sslnegotiation: "postgres",
  };
}

function driverTls(tls: TlsSettings): NonNullable<ClientConfig["ssl"]> {
  if (tls.kind === "off") return false;
  return {
    ...tls.pem,
    rejectUnauthorized: tls.verify !== "none",
    ...(tls.verify === "ca" && { checkServerIdentity: () => undefined }),
  };
}

export interface SessionOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly timeouts: SessionTimeouts;
  readonly stop: AbortSignal;
}

/** One connection, which waits for nothing without a limit. The pool and the source use it alike. */
export class Session {
  readonly #client: pg.ClientBase;
  readonly #waits: SessionWaits;

  constructor(client: pg.ClientBase, options: SessionOptions) {
    this.#client = client;
    const waiting = {
      socket: () => socketOf(client),
      waitsFor: () => waitsFor(options),
      cut: () => this.cut(),
      isLockTimeout: failures.isLockTimeout,
    };
    this.#waits = new SessionWaits(waiting, options.timeouts, options.stop);
  }

  /** See `SessionWaits.wait`. If the connection was lost, rejects with the reason. */
  async wait<T>(ask: () => Promise<T>, limits?: WaitLimits): Promise<T> {
    try {
      return await this.#waits.wait(ask, limits);
    } catch (error) {
      throw this.#reason(error);
    }
  }

  /** See `SessionWaits.each`. */
  async *each<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* this.#waits.each(items);
    } catch (error) {
      throw this.#reason(error);
    }
  }

  /** A connection that was cut is lost too, but that is no reason. */
  #reason(error: unknown): unknown {
    if (error instanceof NoAnswer || !(this.#client instanceof Client)) return error;
    return this.#client.lost ?? error;
  }

  /** Ends the connection at once, and cancels its statement. */
  cut(): void {
    socketOf(this.#client)?.destroy();
    requestCancel(this.#client);
  }
}

/** Closes a connection politely; after `FAREWELL` cuts it off, because the server may be gone. Never rejects. */
export const endInTime = (client: pg.Client): Promise<void> => allInTime(client.end(), [client]);

/** Like `endInTime`, for several connections. `ended` resolves when all are closed. */
export async function allInTime(ended: Promise<void>, clients: Iterable<pg.ClientBase>): Promise<void> {
  await withTimeout(FAREWELL, ended).catch(() => {});
  for (const client of clients) socketOf(client)?.destroy();
}

function socketOf(client: pg.ClientBase): Socket | undefined {
  const { stream } = (client as pg.Client).connection;
  return stream instanceof Socket ? stream : undefined;
}

/**
 * Ends the session's statement at the server: while a server waits for a lock or sorts, it doesn't notice that its
 * client has gone. The request needs no TLS and no password, but the key that the server gave to the session. It has its
 * own connection, so it may overtake the statement, and is repeated once. Ignores failures.
 */
function requestCancel(client: pg.ClientBase): void {
  const { host, port, processID, secretKey } = client as pg.ClientBase & Cancellable;
  if (typeof processID !== "number" || typeof secretKey !== "number") return;
  const request = Buffer.alloc(16);
  for (const [index, word] of [16, 80_877_102, processID, secretKey].entries()) {
    request.writeInt32BE(word | 0, index * 4);
  }
  const send = (): void => {
    const socket = connect(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    socket.setTimeout(FAREWELL, () => socket.destroy());
    socket.on("error", () => {});
    socket.end(request);
    socket.resume();
  };
  send();
  setTimeout(send, CANCEL_AGAIN).unref();
}

interface Cancellable {
  readonly host: string;
  readonly port: number;
  readonly processID: unknown;
  readonly secretKey: unknown;
}

/** Whom a session waits for: another session, unless it is for a standby. Null stands for what this user may not see. */
interface Wait {
  readonly forStandby: boolean;
  readonly pid: number | null;
  readonly user: string | null;
  readonly program: string | null;
  readonly since: string | null;
}

/**
 * What the sessions of this user and program in this database wait for: behind a pooler nobody knows the id of a single one.
 * The server keeps the first 63 bytes of a program's name, as a value of type name has. Never reads a statement's text, which
 * may hold secrets. A holder with pid 0 is a prepared transaction.
 */
const WAITS = `
  SELECT DISTINCT ours.wait_event = 'SyncRep' AS "forStandby", b.pid, h.usename AS user, h.application_name AS program,
    to_char(h.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
  FROM pg_catalog.pg_stat_activity AS ours
    LEFT JOIN LATERAL unnest(pg_blocking_pids(ours.pid)) AS b (pid) ON TRUE
    LEFT JOIN pg_catalog.pg_stat_activity AS h ON h.pid = b.pid
  WHERE ours.application_name = $1::name::text AND ours.usename = session_user AND ours.datname = current_database()
    AND (ours.wait_event_type = 'Lock' OR ours.wait_event = 'SyncRep')`;

/** A session may have the rights of another role, which sees nothing of what the sessions of its own user wait for. */
const AS_OWN_USER = { ...PINNED_PATH, role: "none" } as const;

async function waitsFor({ url, applicationName }: SessionOptions): Promise<string> {
  const client = new Client({
    ...connectionOptions(url, applicationName),
    connectionTimeoutMillis: FAREWELL,
  });
  try {
    const query = { text: WAITS, values: [applicationName] };
    const ask = async () => {
      await client.connect();
      return inOneRoundTrip<Wait>(client, reading(setLocally(AS_OWN_USER)), query);
    };
    const { rows } = await withTimeout(FAREWELL, ask());
    const holders = rows.filter(({ pid }) => pid !== null);
    if (holders.length > 0) return `held by ${holders.map(holderText).join("; ")}`;
    return rows.some(({ forStandby }) => forStandby) ? "the commit waits for a synchronous standby" : "";
  } catch {
    return "";
  } finally {
    void endInTime(client);
  }
}

function holderText({ pid, user, program, since }: Wait): string {
  if (pid === 0) return "a prepared transaction (see pg_prepared_xacts)";
  const details = [user && `user ${user}`, program, since && `in a transaction since ${since}`];
  const known = details.filter((detail) => detail !== null && detail !== "");
  return `session ${pid}${known.length === 0 ? "" : ` (${known.join(", ")})`}`;
}
