import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import {
  type Connections,
  type DatabaseKind,
  type Query,
  SERVER_VARIABLES,
  type ServerKind,
  type Session,
  serverUrl,
} from "./database-server.ts";
import { mysqlServer } from "./mysql-server.ts";
import { postgresServer } from "./postgres-server.ts";

export type { DatabaseKind, Query, Row } from "./database-server.ts";

export interface FreshDatabase {
  readonly kind: DatabaseKind;
  readonly name: string;
  /** Its owner's url, password included. */
  readonly url: string;
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
 * Makes an empty database for the running test, on the kind of server that the vitest project is for unless
 * told otherwise; where the run has no such server, the test is skipped. When the test is over, the database is
 * gone, or kept for a look and named where the test failed. A connection to it that is still open by then
 * fails the test. May be called several times in a test: each call gives another database.
 */
export async function freshDatabase(kind = inject("databaseKind")): Promise<FreshDatabase> {
  const server = SERVERS[kind];
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(serverUrl(kind));
  url.pathname = `/${name}`;
  await withServer(kind, (query) => server.create(query, name, url.href));
  const own = server.connect(url.href);

  onTestFinished(async ({ task }) => {
    await own.end();
    const passed = task.result?.state !== "fail";
    const left = passed ? await sessionsLeft(kind, name) : [];
    if (passed && left.length === 0) {
      await withServer(kind, (query) => server.remove(query, name));
      return;
    }
    console.error(
      `Kept the database ${name}. To find it after the run, name your own server in ${SERVER_VARIABLES[kind]}.`,
    );
    if (left.length > 0) throw new Error(leakMessage(left));
  });
  return { kind, name, url: url.href, query: own.query };
}

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

export function leakMessage(sessions: readonly Session[]): string {
  const lines = sessions.map(({ client, state, query }) => `  ${client}, ${state}: ${query}`);
  return [`${sessions.length} connection(s) were left open when the test was over:`, ...lines].join("\n");
}

/** One for all tests of a file: it ends with the process, and each file has a process of its own. */
const servers = new Map<DatabaseKind, Connections>();

/** Runs SQL as the account that owns the run's server, in no database of a test. */
export async function withServer<T>(kind: DatabaseKind, use: (query: Query) => Promise<T>): Promise<T> {
  const server = servers.get(kind) ?? SERVERS[kind].connect(serverUrl(kind));
  servers.set(kind, server);
  return await use(server.query);
}
