import { connect } from "node:net";
import type pg from "pg";
import Cursor from "pg-cursor";
import { type SessionOptions, SessionWaits } from "../../sql/connection/session-waits.ts";
import { FAREWELL, withTimeout } from "../../sql/connection/wait-limits.ts";
import { Client, connectionOptions, endInTime, socketOf } from "./connection.ts";
import { failures } from "./failures.ts";
import { inOneRoundTrip, reading } from "./one-round-trip.ts";
import { PINNED_PATH, setLocally } from "./settings.ts";

/** In milliseconds: until then a statement that was sent has reached the server. */
const CANCEL_AGAIN = 500;

/** The waits for one connection. The pool and the source use it alike. */
export const sessionWaits = (client: pg.ClientBase, options: SessionOptions): SessionWaits =>
  new SessionWaits(
    {
      socket: () => socketOf(client),
      lost: () => (client instanceof Client ? client.lost : undefined),
      waitsFor: () => waitsFor(options),
      cut: () => {
        socketOf(client)?.destroy();
        requestCancel(client);
      },
      isLockTimeout: failures.isLockTimeout,
    },
    options,
  );

/** Reads a query to its end, a batch at a time, on a connection that is in a transaction. */
export async function* readCursor<Row extends readonly unknown[]>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
  config: ConstructorParameters<typeof Cursor>[2],
  size: number,
): AsyncGenerator<Row[]> {
  const cursor = client.query(new Cursor<Row>(text, [...values], config));
  for (;;) {
    const rows = await cursor.read(size);
    if (rows.length === 0) return;
    yield rows;
  }
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
