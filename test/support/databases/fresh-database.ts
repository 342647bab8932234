import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import { mysqlServer } from "../mysql/mysql-server.ts";
import { postgresServer } from "../postgres/postgres-server.ts";
import {
  type Connections,
  type DatabaseKind,
  type Query,
  SERVER_VARIABLES,
  type ServerKind,
  type Session,
  serverUrl,
} from "./database-server.ts";

export type { DatabaseKind, Query, Row } from "./database-server.ts";

export interface Place {
  readonly kind: DatabaseKind;
  readonly name: string;
  /** Its owner's url, password included. */
  readonly url: string;
}

export interface FreshDatabase extends Place {
  /**
   * Runs SQL over a connection of its own and returns the rows. Placeholders are `$1`, and values come as pg
   * gives them: bigints and decimals as text, booleans as such. On MySQL a VARBINARY comes as the UTF-8 text
   * in it, and the session takes "names" in double quotes, || and UTC for granted.
   */
  readonly query: Query;
}

export const SERVERS: Readonly<Record<DatabaseKind, ServerKind>> = {
  postgres: postgresServer,
  mysql: mysqlServer,
};

/** How long a closed connection may take to vanish from the server's list, in milliseconds. */
const GRACE = 2_000;

/**
 * Makes an empty database for the running test, by default on the vitest project's kind of server. Skips the test if the run
 * has no such server. After the test the database is dropped; if the test failed, the database is kept and its name printed.
 * A connection that is still open then fails the test. Each call in a test makes another database.
 */
export async function freshDatabase(kind = inject("databaseKind")): Promise<FreshDatabase> {
  const place = newPlace(kind);
  const database = openDatabase(place, () => removeDatabase(place));
  await createDatabase(database);
  return database;
}

/** A database that is not there yet. */
export function newPlace(kind: DatabaseKind): Place {
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(serverUrl(kind));
  url.pathname = `/${name}`;
  return { kind, name, url: url.href };
}

/** A database for the running test. `whenPassed` is called if the test passes and leaves no connection open. */
export function openDatabase({ kind, name, url }: Place, whenPassed: () => Promise<void>): FreshDatabase {
  const own = SERVERS[kind].connect(url);
  onTestFinished(async ({ task }) => {
    await own.end();
    const passed = task.result?.state !== "fail";
    const left = passed ? await sessionsLeft(kind, name) : [];
    if (passed && left.length === 0) return whenPassed();
    console.error(
      `Kept the database ${name}. To find it after the run, name your own server in ${SERVER_VARIABLES[kind]}.`,
    );
    if (left.length > 0) throw new Error(leakMessage(left));
  });
  return { kind, name, url, query: own.query };
}

export const createDatabase = ({ kind, name, query: own }: FreshDatabase): Promise<void> =>
  withServer(kind, (query) => SERVERS[kind].create(query, name, own));

export const removeDatabase = ({ kind, name }: Place): Promise<void> =>
  withServer(kind, (query) => SERVERS[kind].remove(query, name));

/** The sessions in a database once those that are just closing have had their time. */
export async function sessionsLeft(kind: DatabaseKind, database: string, grace = GRACE): Promise<Session[]> {
  return withServer(kind, async (query) => {
    const deadline = Date.now() + grace;
    while (true) {
      const sessions = await SERVERS[kind].sessionsIn(query, database);
      if (sessions.length === 0 || Date.now() >= deadline) return sessions;
      await sleep(20);
    }
  });
}

function leakMessage(sessions: readonly Session[]): string {
  const lines = sessions.map(({ client, state, query }) => `  ${client}, ${state}: ${query}`);
  return [`${sessions.length} connection(s) were left open when the test was over:`, ...lines].join("\n");
}

/** One for all test files that a process runs. It ends with the process. */
const servers = new Map<DatabaseKind, Connections>();

/** Runs SQL as the account that owns the run's server, in no database of a test. */
export async function withServer<T>(kind: DatabaseKind, use: (query: Query) => Promise<T>): Promise<T> {
  const server = servers.get(kind) ?? SERVERS[kind].connect(serverUrl(kind));
  servers.set(kind, server);
  return await use(server.query);
}
