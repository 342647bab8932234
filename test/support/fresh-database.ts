import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { inject, onTestFinished } from "vitest";

export type Row = Record<string, unknown>;
export type Query = <R extends Row = Row>(text: string, values?: readonly unknown[]) => Promise<R[]>;

export interface FreshDatabase {
  readonly name: string;
  /** Its owner's url, password included. */
  readonly url: string;
  /** Runs SQL over a connection of its own and returns the rows. */
  readonly query: Query;
}

/** A session that somebody left open. */
export interface Session {
  readonly application_name: string;
  readonly state: string;
  /** The last statement it ran. */
  readonly query: string;
}

/** How long a closed connection may take to vanish from the server's list, in milliseconds. */
const GRACE = 2_000;

/**
 * Makes an empty database for the running test. When the test is over, it is dropped, or kept for a look
 * and named where the test failed. A connection to it that is still open by then fails the test.
 * May be called several times in a test: each call gives another database.
 */
export async function freshDatabase(): Promise<FreshDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  await withServer(serverUrl, (query) => query(`CREATE DATABASE ${name}`));
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const own = connections(url.href);

  onTestFinished(async ({ task }) => {
    await own.end();
    const passed = task.result?.state !== "fail";
    const left = passed ? await sessionsLeft(serverUrl, name) : [];
    if (passed && left.length === 0) {
      await withServer(serverUrl, (query) => query(`DROP DATABASE ${name} WITH (FORCE)`));
      return;
    }
    console.error(
      `Kept the database ${name}. To find it after the run, name your own server in GROUPSYNC_TEST_POSTGRES_URL.`,
    );
    if (left.length > 0) throw new Error(leakMessage(left));
  });
  return { name, url: url.href, query: queryOver(own) };
}

/** The sessions in a database once those that are just closing have had their time. */
export async function sessionsLeft(serverUrl: string, database: string, grace = GRACE): Promise<Session[]> {
  return withServer(serverUrl, async (query) => {
    const deadline = Date.now() + grace;
    while (true) {
      const sessions = await query<Row & Session>(
        `SELECT application_name, state, query FROM pg_stat_activity
         WHERE datname = $1 AND backend_type = 'client backend' ORDER BY backend_start`,
        [database],
      );
      if (sessions.length === 0 || Date.now() >= deadline) return sessions;
      await sleep(20);
    }
  });
}

export function leakMessage(sessions: readonly Session[]): string {
  const lines = sessions.map(
    ({ application_name, state, query }) =>
      `  ${application_name || "(no application_name)"}, ${state}: ${query}`,
  );
  return [`${sessions.length} connection(s) were left open when the test was over:`, ...lines].join("\n");
}

async function withServer<T>(serverUrl: string, use: (query: Query) => Promise<T>): Promise<T> {
  const pool = connections(serverUrl);
  try {
    return await use(queryOver(pool));
  } finally {
    await pool.end();
  }
}

/** One connection, and another where a test has broken it. */
function connections(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 1, application_name: "groupsync tests" });
  // A test may end every session of its database on purpose: the next query is what has to work.
  return pool.on("error", () => {});
}

function queryOver(pool: pg.Pool): Query {
  return async <R extends Row>(text: string, values: readonly unknown[] = []) =>
    (await pool.query<R>(text, [...values])).rows;
}
