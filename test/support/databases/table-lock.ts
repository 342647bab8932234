import { expect, onTestFinished } from "vitest";
import { PROCESS_LIST } from "../mysql/mysql-server.ts";
import { type DatabaseKind, type FreshDatabase, SERVERS } from "./fresh-database.ts";

interface Words {
  readonly lock: (table: string) => readonly string[];
  readonly me: string;
  /** A row for each session in the database that waits for a lock of a table. */
  readonly waiting: string;
}

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    lock: (table) => ["BEGIN", `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`],
    me: "SELECT pg_backend_pid()::text AS id",
    waiting: "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  },
  mysql: {
    lock: (table) => [`LOCK TABLES ${table} WRITE`],
    me: "SELECT CAST(connection_id() AS CHAR) AS id",
    waiting: `SELECT 1 FROM ${PROCESS_LIST} WHERE db = database() AND state LIKE 'Waiting for table%'`,
  },
};

export interface HeldLock {
  /** The number of the session that holds it. */
  readonly session: string;
  release(): Promise<void>;
}

/** Somebody has the table for itself, until the test is over at the latest. */
export const lockTable = (database: FreshDatabase, table: string): Promise<HeldLock> =>
  holdLocks(database, WORDS[database.kind].lock(table));

/** Somebody holds what these statements lock, until the test is over at the latest. */
export async function holdLocks(
  { kind, url }: FreshDatabase,
  statements: readonly string[],
): Promise<HeldLock> {
  const somebody = SERVERS[kind].connect(url);
  for (const statement of statements) await somebody.query(statement);
  let ended: Promise<void> | undefined;
  const release = (): Promise<void> => {
    ended ??= somebody.end();
    return ended;
  };
  onTestFinished(release);
  const [me] = await somebody.query<{ id: string }>(WORDS[kind].me);
  return { session: me?.id ?? "", release };
}

/** Waits until this many sessions in the database wait for a table's lock. */
export async function untilWaiting({ kind, query }: FreshDatabase, sessions: number): Promise<void> {
  await expect.poll(() => query(WORDS[kind].waiting), { timeout: 20_000 }).toHaveLength(sessions);
}
