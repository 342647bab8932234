import { Socket } from "node:net";
import { type Connection, createConnection, type RowDataPacket } from "mysql2";
import type { Connection as Asking } from "mysql2/promise";
import type { Secret } from "../../core/secret.ts";
import { type Finding, lookFailed, type Session } from "../sql/attendance.ts";
import { inTime } from "../sql/in-time.ts";
import { connectionOptions } from "./connection.ts";
import { cutOff, endInTime } from "./cut-off.ts";
import { failures, isFromServer } from "./failures.ts";
import { lockHolders, type Process } from "./lock-holders.ts";

/** How long the server may take to end a session, in milliseconds. */
const FAREWELL = 5_000;

/** Who a session is: asked in it, because a proxy in between has numbers of its own. */
export interface Thread {
  readonly id: number;
  /** Behind a balancer another connection may lead to another server. */
  readonly server: string;
}

const SERVER = "CONCAT(@@hostname, ':', @@port)";
export const WHO_AM_I = `SELECT CONNECTION_ID() AS id, ${SERVER} AS server`;

interface SessionOptions {
  readonly url: Secret;
  readonly applicationName: string;
}

/** `thread` is undefined until somebody has asked: then nothing can be told. */
export function sessionOf(
  connection: Connection,
  options: SessionOptions,
  thread: () => Thread | undefined,
): Session {
  return {
    received: () =>
      "stream" in connection && connection.stream instanceof Socket ? connection.stream.bytesRead : 0,
    look: async (ms) => {
      const asked = thread();
      return asked ? look(options, asked, ms) : { kind: "at work" };
    },
    cut: () => {
      cutOff(connection);
      const asked = thread();
      if (asked) void end(options, asked);
    },
    isLockTimeout: failures.isLockTimeout,
  };
}

async function look({ url, applicationName }: SessionOptions, thread: Thread, ms: number): Promise<Finding> {
  const connection = createConnection({ ...connectionOptions(url, applicationName), connectTimeout: ms });
  connection.on("error", () => {});
  try {
    return await inTime(ms, lookAt(connection.promise(), thread));
  } catch (error) {
    return lookFailed(error, isFromServer(error));
  } finally {
    void endInTime(connection.promise().end(), [connection]);
  }
}

/** A server that sorts doesn't notice that its client has gone. Nobody waits for what becomes of it: never rejects. */
async function end({ url, applicationName }: SessionOptions, { id, server }: Thread): Promise<void> {
  const connection = createConnection({
    ...connectionOptions(url, applicationName),
    connectTimeout: FAREWELL,
  });
  connection.on("error", () => {});
  try {
    const asking = connection.promise();
    if ((await whoIsAt(asking, server)) !== undefined) await inTime(FAREWELL, asking.query(`KILL ${id}`));
  } catch {
    // It has ended by itself, or ends with the next row that it sends.
  } finally {
    await endInTime(connection.promise().end(), [connection]);
  }
}

/** The asking session's own number; undefined at another server. */
async function whoIsAt(connection: Asking, server: string): Promise<number | undefined> {
  const [[here]] = await connection.query<(Thread & RowDataPacket)[]>(WHO_AM_I);
  return here?.server === server ? Number(here.id) : undefined;
}

async function lookAt(connection: Asking, { id, server }: Thread): Promise<Finding> {
  const me = await whoIsAt(connection, server);
  if (me === undefined) return { kind: "at work" };
  const [listed] = await connection.query<(Process & RowDataPacket)[]>("SHOW PROCESSLIST");
  const processes = listed.filter((one) => Number(one.Id) !== me);
  const ours = processes.find((one) => Number(one.Id) === id);
  if (!ours) return { kind: "lost", why: "the server has ended this session, and nobody was told" };
  const holders = await lockHolders(connection, ours, processes);
  if (holders !== undefined) return { kind: "locked", holders };
  if (ours.Command === "Sleep" || SENDING.has(ours.State ?? "")) {
    return { kind: "lost", why: "the connection has fallen silent: the server waits for this side of it" };
  }
  return { kind: "at work" };
}

/** While nothing arrives here: MariaDB's word, and MySQL's. */
const SENDING: ReadonlySet<string> = new Set(["Writing to net", "Sending to client"]);
