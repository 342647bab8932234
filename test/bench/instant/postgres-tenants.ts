import pg from "pg";
import { documentedSql } from "../../support/documented-sql.ts";
import { parentOf } from "./cpu-time.ts";
import { insertStatement, type Tenants } from "./tenants.ts";

/** The channel of the documented trigger. */
export const CHANGES_CHANNEL = "customers_changed";
const TOKENS_CHANNEL = "groupsync_tokens";

export async function postgresTenants(url: string): Promise<Tenants> {
  const client = new pg.Client(url);
  const observer = new pg.Client(url);
  const seenAt = new Map<string, number>();
  await client.connect();
  await observer.connect();
  observer.on("notification", ({ payload = "" }) => seenAt.set(payload, performance.now()));
  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await client.query(statement);
  };
  return {
    seenAt,
    config: { notify: TOKENS_CHANNEL },
    prepare: () =>
      run(
        `ALTER TABLE customers ADD COLUMN updated_at timestamptz NOT NULL
           DEFAULT now() - interval '1 hour' - random() * interval '300 days'`,
        "ALTER TABLE customers ALTER COLUMN updated_at SET DEFAULT clock_timestamp()",
        "CREATE INDEX ON customers (updated_at)",
        ...documentedSql("docs/new-tenants.md", "postgres").filter((sql) => sql.includes(CHANGES_CHANNEL)),
      ),
    tidy: () => run("VACUUM ANALYZE", "CHECKPOINT"),
    watch: () => observer.query(`LISTEN ${TOKENS_CHANNEL}`).then(() => {}),
    insert: (ids) => run(insertStatement(ids)),
    async serverPid() {
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      return parentOf(rows[0]?.pid);
    },
    async close() {
      await client.end();
      await observer.end();
    },
  };
}
