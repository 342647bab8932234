import { Socket } from "node:net";
import { type Connection, createConnection, type RowDataPacket } from "mysql2";
import type { Connection as Asking } from "mysql2/promise";
import type { Secret } from "../../../core/secret/secret.ts";
import { databaseHost } from "../../../core/tls/database-tls.ts";
import { insistOnVersion as insistOnOldest } from "../../sql/connection/server-version.ts";
import {
  inspectionFailed,
  type SessionState,
  type WatchedSession,
} from "../../sql/connection/session-watchdog.ts";
import { withTimeout } from "../../sql/connection/wait-limits.ts";
import { connectionOptions, cutOff, endInTime } from "./connection.ts";
import { failures, isFromServer } from "./failures.ts";
import { lockHolders, type Process } from "./lock-holders.ts";

/** How long the server may take to end a session, in milliseconds. */
const FAREWELL = 5_000;

/**
 * Identifies a session. The session itself asks the server for these values, because a proxy in between has ids of its
 * own.
 */
export interface Thread {
  readonly id: number;
  /** Identifies the server: behind a load balancer, another connection may lead to another server. */
  readonly server: string;
  readonly version: string;
}

const SERVER = "CONCAT(@@hostname, ':', @@port)";
export const WHO_AM_I = `SELECT CONNECTION_ID() AS id, ${SERVER} AS server, VERSION() AS version`;

/** Throws DATABASE_TOO_OLD. A proxy in between may greet with another version than the server's. */
export function insistOnVersion(thread: Thread | undefined, url: Secret): void {
  const version = thread?.version ?? "";
  const product = /mariadb/i.test(version) ? "MariaDB" : "MySQL";
  insistOnOldest(product, version, databaseHost("mysql", url.reveal()));
}

interface SessionOptions {
  readonly url: Secret;
  readonly applicationName: string;
}

/** As long as `thread` returns undefined, the session can't be inspected and counts as at work. */
export function watchedSession(
  connection: Connection,
  options: SessionOptions,
  thread: () => Thread | undefined,
): WatchedSession {
  return {
    received: () =>
      "stream" in connection && connection.stream instanceof Socket ? connection.stream.bytesRead : 0,
    inspect: async (ms) => {
      const asked = thread();
      return asked ? inspect(options, asked, ms) : { kind: "at work" };
    },
    cut: () => {
      cutOff(connection);
      const asked = thread();
      if (asked) void end(options, asked);
    },
    isLockTimeout: failures.isLockTimeout,
  };
}

async function inspect(
  { url, applicationName }: SessionOptions,
  thread: Thread,
  ms: number,
): Promise<SessionState> {
  const connection = createConnection({ ...connectionOptions(url, applicationName), connectTimeout: ms });
  connection.on("error", () => {});
  try {
    return await withTimeout(ms, stateOf(connection.promise(), thread));
  } catch (error) {
    return inspectionFailed(error, isFromServer(error));
  } finally {
    void endInTime(connection.promise().end(), [connection]);
  }
}

/** Ends the session at the server: while a server sorts, it doesn't notice that its client has gone. Never rejects. */
async function end({ url, applicationName }: SessionOptions, { id, server }: Thread): Promise<void> {
  const connection = createConnection({
    ...connectionOptions(url, applicationName),
    connectTimeout: FAREWELL,
  });
  connection.on("error", () => {});
  try {
    const asking = connection.promise();
    if ((await whoIsAt(asking, server)) !== undefined)
      await withTimeout(FAREWELL, asking.query(`KILL ${id}`));
  } catch {
    // The session has ended already, or ends when the server sends its next row.
  } finally {
    await endInTime(connection.promise().end(), [connection]);
  }
}

/** This connection's own id; undefined if it leads to another server. */
async function whoIsAt(connection: Asking, server: string): Promise<number | undefined> {
  const [[here]] = await connection.query<(Thread & RowDataPacket)[]>(WHO_AM_I);
  return here?.server === server ? Number(here.id) : undefined;
}

async function stateOf(connection: Asking, { id, server }: Thread): Promise<SessionState> {
  const me = await whoIsAt(connection, server);
  if (me === undefined) return { kind: "at work" };
  const [listed] = await connection.query<(Process & RowDataPacket)[]>("SHOW PROCESSLIST");
  const processes = listed.filter((one) => Number(one.Id) !== me);
  const ours = processes.find((one) => Number(one.Id) === id);
  if (!ours) return { kind: "lost", why: "the server has ended this session without telling its client" };
  const holders = await lockHolders(connection, ours, processes);
  if (holders !== undefined) return { kind: "locked", holders };
  if (ours.Command === "Sleep" || SENDING.has(ours.State ?? "")) {
    return { kind: "lost", why: "the connection has fallen silent: the server waits for this side of it" };
  }
  return { kind: "at work" };
}

/** The states of a session that sends rows: MariaDB's word and MySQL's. */
const SENDING: ReadonlySet<string> = new Set(["Writing to net", "Sending to client"]);
