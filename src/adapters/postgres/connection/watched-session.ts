import { connect, Socket } from "node:net";
import type pg from "pg";
import type { Secret } from "../../../core/secret/secret.ts";
import {
  inspectionFailed,
  type SessionState,
  type WatchedSession,
} from "../../sql/connection/session-watchdog.ts";
import { withTimeout } from "../../sql/connection/wait-limits.ts";
import { Client, connectionOptions } from "./connection.ts";
import { failures, isFromServer } from "./failures.ts";
import { inOneRoundTrip, reading } from "./one-round-trip.ts";
import { PINNED } from "./search-path.ts";

/** How long the end of a connection and a request to cancel may take, in milliseconds. */
const FAREWELL = 5_000;
/** In milliseconds: until then a statement that was sent has reached the server. */
const CANCEL_AGAIN = 500;

/**
 * Identifies a session. The session itself asks the server for these values, because a pooler in between has ids of its
 * own.
 */
export interface Backend {
  readonly pid: number;
  /** When the server was started: behind a load balancer, another connection may lead to another server. */
  readonly server: string;
}

export const WHO_AM_I = `SELECT pg_catalog.pg_backend_pid() AS pid,
  extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text AS server`;

interface SessionOptions {
  readonly url: Secret;
  readonly applicationName: string;
}

/** If `backend` returns undefined, takes the driver's pid, which can't prove that the session has ended. */
export function watchedSession(
  client: pg.ClientBase,
  options: SessionOptions,
  backend: () => Backend | undefined,
): WatchedSession {
  return {
    received: () => socketOf(client)?.bytesRead ?? 0,
    inspect: (ms) =>
      inspect(options, backend() ?? { pid: Reflect.get(client, "processID") as number, server: null }, ms),
    cut: () => {
      socketOf(client)?.destroy();
      requestCancel(client);
    },
    isLockTimeout: failures.isLockTimeout,
  };
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

async function inspect(
  { url, applicationName }: SessionOptions,
  backend: Asked,
  ms: number,
): Promise<SessionState> {
  const client = new Client({ ...connectionOptions(url, applicationName), connectionTimeoutMillis: ms });
  client.on("error", () => {});
  try {
    await client.connect();
    const query = { text: INSPECT, values: [backend.pid, backend.server] };
    const { rows } = await withTimeout(ms, inOneRoundTrip<Seen>(client, reading(PINNED), query));
    return stateOf(rows[0], backend, applicationName);
  } catch (error) {
    return inspectionFailed(error, isFromServer(error));
  } finally {
    void endInTime(client);
  }
}

interface Asked {
  readonly pid: number;
  readonly server: string | null;
}

interface Seen {
  readonly state: string | null;
  readonly waits: string | null;
  readonly event: string | null;
  readonly program: string | null;
  readonly isThere: boolean;
  readonly isSameServer: boolean;
  readonly holders: readonly Holder[] | null;
}

/** Null stands for what this user may not see. */
interface Holder {
  readonly pid: number;
  readonly user: string | null;
  readonly program: string | null;
  readonly since: string | null;
  readonly locks: string | null;
}

/** Never reads a statement's text, which may hold secrets. A holder with pid 0 is a prepared transaction. */
const INSPECT = `
  SELECT a.state, a.wait_event_type AS waits, a.wait_event AS event, a.application_name AS program,
    a.pid IS NOT NULL AS "isThere",
    coalesce(extract(epoch FROM pg_postmaster_start_time())::text = $2, true) AS "isSameServer",
    (SELECT json_agg(json_build_object('pid', b.pid, 'user', h.usename, 'program', h.application_name,
         'since', to_char(h.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'locks', (
       SELECT string_agg(DISTINCT theirs.mode || coalesce(' on ' || theirs.relation::regclass::text, ''), ', ')
       FROM pg_catalog.pg_locks AS ours JOIN pg_catalog.pg_locks AS theirs ON theirs.pid = b.pid AND theirs.granted
         AND theirs.locktype = ours.locktype AND theirs.database IS NOT DISTINCT FROM ours.database
         AND theirs.relation IS NOT DISTINCT FROM ours.relation
         AND theirs.transactionid IS NOT DISTINCT FROM ours.transactionid
       WHERE ours.pid = $1 AND NOT ours.granted)))
     FROM (SELECT DISTINCT unnest(pg_blocking_pids($1)) AS pid) AS b
       LEFT JOIN pg_catalog.pg_stat_activity AS h ON h.pid = b.pid) AS holders
  FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = $1`;

function stateOf(seen: Seen | undefined, { server }: Asked, applicationName: string): SessionState {
  if (!seen?.isSameServer) return { kind: "at work" };
  const { isThere, state, waits, event, program, holders } = seen;
  if (holders) return { kind: "locked", holders: `held by ${holders.map(holderText).join("; ")}` };
  // A pid that is only the driver's may come from a pooler, and may by chance be the pid of another session.
  if (server === null && program !== applicationName) return { kind: "at work" };
  if (!isThere) return { kind: "lost", why: "the server has ended this session without telling its client" };
  if (waits === "Client" || state?.startsWith("idle")) {
    return { kind: "lost", why: "the connection has fallen silent: the server waits for this side of it" };
  }
  return event === "SyncRep"
    ? { kind: "at work", waits: "the commit waits for a synchronous standby" }
    : { kind: "at work" };
}

function holderText({ pid, user, program, since, locks }: Holder): string {
  if (pid === 0) return "a prepared transaction (see pg_prepared_xacts)";
  const details = [user && `user ${user}`, program, since && `in a transaction since ${since}`, locks];
  const known = details.filter((detail) => detail !== null && detail !== "");
  return `session ${pid}${known.length === 0 ? "" : ` (${known.join(", ")})`}`;
}
