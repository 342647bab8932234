import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseKind } from "../../support/databases/database-server.ts";
import { type Query, SERVERS } from "../../support/databases/fresh-database.ts";
import { documentedSql } from "../../support/documented-sql.ts";
import { parentOf } from "./cpu-time.ts";

/** The customers table of a benchmark, with a change column, and the tokens that groupsync stores for it. */
export interface Tenants {
  /** When each token was first seen, on the clock of `performance.now()`, by user_group_id. */
  readonly seenAt: ReadonlyMap<string, number>;
  /** Adds a change column with an index and, on PostgreSQL, the documented trigger. */
  prepare(): Promise<void>;
  /** Does the maintenance that the server would do in time. */
  tidy(): Promise<void>;
  /** Adds tenants by one INSERT, and watches for the first one's token. Resolves when that is committed. */
  insert(ids: readonly string[]): Promise<void>;
  /** How many tokens are stored, of all tenants. */
  stored(): Promise<number>;
  /** The id of the server's first process. NaN if it isn't on this machine. */
  serverPid(): Promise<number>;
  close(): Promise<void>;
}

/** The channel of the documented trigger. */
export const CHANGES_CHANNEL = "customers_changed";

/** How often to look for new tokens, in milliseconds. */
const LOOK_EVERY = 5;

interface Words {
  readonly prepare: readonly string[];
  readonly tidy: readonly string[];
  serverPid(query: Query): Promise<number>;
}

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    prepare: [
      `ALTER TABLE customers ADD COLUMN updated_at timestamptz NOT NULL
         DEFAULT now() - interval '1 hour' - random() * interval '300 days'`,
      "ALTER TABLE customers ALTER COLUMN updated_at SET DEFAULT clock_timestamp()",
      "CREATE INDEX ON customers (updated_at)",
      ...documentedSql("docs/new-tenants.md", "postgres").filter((sql) => sql.includes(CHANGES_CHANNEL)),
    ],
    tidy: ["VACUUM ANALYZE", "CHECKPOINT"],
    async serverPid(query) {
      const [row] = await query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      return parentOf(row?.pid);
    },
  },
  mysql: {
    prepare: [
      "ALTER TABLE customers ADD COLUMN updated_at TIMESTAMP(6) NULL",
      "UPDATE customers SET updated_at = now(6) - INTERVAL 1 HOUR - INTERVAL floor(rand() * 2e7) SECOND",
      `ALTER TABLE customers
         MODIFY updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)`,
      "CREATE INDEX customers_updated_at ON customers (updated_at)",
    ],
    tidy: ["ANALYZE TABLE customers, groupsync_groups, groupsync_tokens"],
    async serverPid(query) {
      const [row] = await query<{ file: string }>(
        "SELECT if(@@pid_file LIKE '/%', @@pid_file, concat(@@datadir, @@pid_file)) AS file",
      );
      try {
        return Number(readFileSync(row?.file ?? "", "utf8"));
      } catch {
        return Number.NaN;
      }
    },
  },
};

/** Watches for tokens until it is closed. */
export function openTenants(kind: DatabaseKind, url: string): Tenants {
  const { query, end } = SERVERS[kind].connect(url);
  const observer = SERVERS[kind].connect(url);
  const seenAt = new Map<string, number>();
  /** Tenants whose tokens are not there yet. */
  const awaited = new Set<string>();
  const closing = new AbortController();
  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await query(statement);
  };
  const watch = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await sleep(LOOK_EVERY);
      if (awaited.size === 0) continue;
      const ids = [...awaited].map((id) => `'${id}'`).join(", ");
      for (const { id } of await observer.query<{ id: string }>(
        `SELECT user_group_id AS id FROM groupsync_tokens WHERE user_group_id IN (${ids})`,
      )) {
        seenAt.set(id, performance.now());
        awaited.delete(id);
      }
    }
  };
  const watching = watch();
  // It is awaited when this is closed.
  watching.catch(() => {});
  const { prepare, tidy, serverPid } = WORDS[kind];
  return {
    seenAt,
    prepare: () => run(prepare),
    tidy: () => run(tidy),
    async insert(ids) {
      const rows = ids.map((id) => `('${id}', 'Company', 'ds', 'basic', 7)`);
      await query(
        `INSERT INTO customers (id, company_name, data_source_id, plan, seats) VALUES ${rows.join(", ")}`,
      );
      if (ids[0] !== undefined) awaited.add(ids[0]);
    },
    async stored() {
      const [row] = await query<{ count: number | string }>("SELECT count(*) AS count FROM groupsync_tokens");
      return Number(row?.count);
    },
    serverPid: () => serverPid(query),
    async close() {
      closing.abort();
      try {
        await watching;
      } finally {
        await end();
        await observer.end();
      }
    },
  };
}
