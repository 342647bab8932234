import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import mysql from "mysql2/promise";
import { insertStatement, type Tenants } from "./tenants.ts";

/** How often to look for new tokens, in milliseconds. */
const LOOK_EVERY = 5;

export async function mysqlTenants(url: string): Promise<Tenants> {
  const connection = await mysql.createConnection(url);
  const observer = await mysql.createConnection(url);
  const seenAt = new Map<string, number>();
  /** Tenants without a token. */
  const awaited = new Set<string>();
  const closing = new AbortController();
  let watching = Promise.resolve();
  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await connection.query(statement);
  };
  const watch = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await sleep(LOOK_EVERY);
      if (awaited.size === 0) continue;
      const [rows] = await observer.query<(mysql.RowDataPacket & { id: string })[]>(
        "SELECT user_group_id AS id FROM groupsync_tokens WHERE user_group_id IN (?)",
        [[...awaited]],
      );
      for (const { id } of rows) {
        seenAt.set(id, performance.now());
        awaited.delete(id);
      }
    }
  };
  return {
    seenAt,
    config: {},
    prepare: () =>
      run(
        "ALTER TABLE customers ADD COLUMN updated_at TIMESTAMP(6) NULL",
        "UPDATE customers SET updated_at = now(6) - INTERVAL 1 HOUR - INTERVAL floor(rand() * 2e7) SECOND",
        `ALTER TABLE customers
           MODIFY updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)`,
        "CREATE INDEX customers_updated_at ON customers (updated_at)",
      ),
    tidy: () => run("ANALYZE TABLE customers, groupsync_groups, groupsync_tokens"),
    async watch() {
      watching = watch();
      // It is awaited when this is closed.
      watching.catch(() => {});
    },
    async insert(ids) {
      await run(insertStatement(ids));
      for (const id of ids) awaited.add(id);
    },
    async serverPid() {
      const [rows] = await connection.query<(mysql.RowDataPacket & { file: string })[]>(
        "SELECT if(@@pid_file LIKE '/%', @@pid_file, concat(@@datadir, @@pid_file)) AS file",
      );
      try {
        return Number(readFileSync(rows[0]?.file ?? "", "utf8"));
      } catch {
        return Number.NaN;
      }
    },
    async close() {
      closing.abort();
      try {
        await watching;
      } finally {
        await connection.end();
        await observer.end();
      }
    },
  };
}
