import { connect, Socket } from "node:net";
import pg from "pg";
import type { Secret } from "../../core/secret.ts";
import { type Finding, lookFailed, type Session } from "../sql/attendance.ts";
import { inTime } from "../sql/in-time.ts";
import { connectionOptions } from "./connection.ts";
import { failures, isFromServer } from "./failures.ts";
import { pinnedQuery } from "./search-path.ts";

/** How long the server may take to hear a farewell or a request to cancel, in milliseconds. */
const FAREWELL = 5_000;

/** Who a session is: asked in it, because a pooler in between has numbers of its own. */
export interface Backend {
  readonly pid: number;
  /** When its server was started: behind a balancer another connection may lead to another server. */
  readonly server: string;
}

export const WHO_AM_I = `SELECT pg_catalog.pg_backend_pid() AS pid,
  extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text AS server`;

interface SessionOptions {
  readonly url: Secret;
  readonly applicationName: string;
}

/** `backend` is undefined where nobody has asked: then its end can't be told. */
export function sessionOf(
  client: pg.ClientBase,
  options: SessionOptions,
  backend: () => Backend | undefined,
): Session {
  return {
    received: () => socketOf(client)?.bytesRead ?? 0,
    look: (ms) =>
      look(options, backend() ?? { pid: Reflect.get(client, "processID") as number, server: null }, ms),
    cut: () => {
      socketOf(client)?.destroy();
      requestCancel(client);
    },
    isLockTimeout: failures.isLockTimeout,
  };
}

/** Says farewell; not for long, for the server may be gone. Never rejects. */
export const endInTime = (client: pg.Client): Promise<void> => allInTime(client.end(), [client]);

/** Likewise with several of them. */
export async function allInTime(ended: Promise<void>, clients: Iterable<pg.ClientBase>): Promise<void> {
  await inTime(FAREWELL, ended).catch(() => {});
  for (const client of clients) socketOf(client)?.destroy();
}

function socketOf(client: pg.ClientBase): Socket | undefined {
  const { stream } = (client as pg.Client).connection;
  return stream instanceof Socket ? stream : undefined;
}

/**
 * A server that waits for a lock, or sorts, doesn't notice that its client has gone. It takes such a request without
 * TLS and without a password, for the key that the session was given. Nobody waits for what becomes of it.
 */
function requestCancel(client: pg.ClientBase): void {
  const { host, port, processID, secretKey } = client as pg.ClientBase & Cancellable;
  if (typeof processID !== "number" || typeof secretKey !== "number") return;
  const request = Buffer.alloc(16);
  for (const [index, word] of [16, 80_877_102, processID, secretKey].entries()) {
    request.writeInt32BE(word | 0, index * 4);
  }
  const socket = connect(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.setTimeout(FAREWELL, () => socket.destroy());
  socket.on("error", () => {});
  socket.end(request);
  socket.resume();
}

interface Cancellable {
  readonly host: string;
  readonly port: number;
  readonly processID: unknown;
  readonly secretKey: unknown;
}

async function look({ url, applicationName }: SessionOptions, backend: Asked, ms: number): Promise<Finding> {
  const client = new pg.Client({ ...connectionOptions(url, applicationName), connectionTimeoutMillis: ms });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await inTime(ms, pinnedQuery<Seen>(client, LOOK_AT, [backend.pid, backend.server]));
    return judge(rows[0], backend, applicationName);
  } catch (error) {
    return lookFailed(error, isFromServer(error));
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
  readonly program: string | null;
  readonly isThere: boolean;
  readonly isSameServer: boolean;
  readonly holders: readonly Holder[] | null;
}

/** What nobody may tell this user is null. */
interface Holder {
  readonly pid: number;
  readonly user: string | null;
  readonly program: string | null;
  readonly since: string | null;
  readonly locks: string | null;
}

/** Never a statement's text: it may hold secrets. Pid 0 is a prepared transaction. */
const LOOK_AT = `
  SELECT a.state, a.wait_event_type AS waits, a.application_name AS program,
    a.pid IS NOT NULL AS "isThere",
    coalesce(extract(epoch FROM pg_postmaster_start_time())::text = $2, true) AS "isSameServer",
    (SELECT json_agg(json_build_object('pid', b.pid, 'user', h.usename, 'program', h.application_name,
         'since', to_char(h.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'locks', (
       SELECT string_agg(DISTINCT theirs.mode || coalesce(' on ' || theirs.relation::regclass::text, ''), ', ')
       FROM pg_locks AS ours JOIN pg_locks AS theirs ON theirs.pid = b.pid AND theirs.granted
         AND theirs.locktype = ours.locktype AND theirs.database IS NOT DISTINCT FROM ours.database
         AND theirs.relation IS NOT DISTINCT FROM ours.relation
         AND theirs.transactionid IS NOT DISTINCT FROM ours.transactionid
       WHERE ours.pid = $1 AND NOT ours.granted)))
     FROM (SELECT DISTINCT unnest(pg_blocking_pids($1)) AS pid) AS b
       LEFT JOIN pg_stat_activity AS h ON h.pid = b.pid) AS holders
  FROM (SELECT 1) AS one LEFT JOIN pg_stat_activity AS a ON a.pid = $1`;

function judge(seen: Seen | undefined, { server }: Asked, applicationName: string): Finding {
  if (!seen?.isSameServer) return { kind: "at work" };
  const { isThere, state, waits, program, holders } = seen;
  if (holders) return { kind: "locked", holders: `held by ${holders.map(holderText).join("; ")}` };
  // A number that nobody has asked the server for may be a pooler's, and another session's by chance.
  if (server === null && program !== applicationName) return { kind: "at work" };
  if (!isThere) return { kind: "lost", why: "the server has ended this session, and nobody was told" };
  if (waits === "Client" || state?.startsWith("idle")) {
    return { kind: "lost", why: "the connection has fallen silent: the server waits for this side of it" };
  }
  return { kind: "at work" };
}

function holderText({ pid, user, program, since, locks }: Holder): string {
  if (pid === 0) return "a prepared transaction (see pg_prepared_xacts)";
  const details = [user && `user ${user}`, program, since && `in a transaction since ${since}`, locks];
  const known = details.filter((detail) => detail !== null && detail !== "");
  return `session ${pid}${known.length === 0 ? "" : ` (${known.join(", ")})`}`;
}
