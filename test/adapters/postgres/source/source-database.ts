import { postgresTenantSource } from "../../../../src/adapters/postgres/source/tenant-source.ts";
import type { SessionTimeouts } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { TenantSource } from "../../../../src/ports/tenant-source.ts";
import type { ColumnKind, SourceDatabase, SourceOptions } from "../../../contracts/tenant-source.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";

export const APPLICATION = "groupsync:source-under-test";

const TYPES: Readonly<Record<ColumnKind, string>> = {
  text: "text",
  smallint: "smallint",
  integer: "integer",
  bigint: "bigint",
  timestamp: "timestamp",
  json: "jsonb",
  bytes: "bytea",
};

const TIMEOUTS: SessionTimeouts = { lockMs: 30_000, silenceMs: 600_000 };

export const postgresSource = (url: string, options: SourceOptions, timeouts = TIMEOUTS): TenantSource =>
  postgresTenantSource({ url: new Secret(url), applicationName: APPLICATION, timeouts, ...options });

export async function postgresSourceDatabase(): Promise<SourceDatabase & FreshDatabase> {
  const fresh = await freshDatabase();
  const { url, query } = fresh;
  return {
    ...fresh,
    create: async (table, columns) => {
      const definitions = Object.entries(columns).map(([name, kind]) => `${name} ${TYPES[kind]}`);
      await query(`CREATE TABLE ${table} (${definitions.join(", ")})`);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {});
      if (columns.length === 0) return;
      const { kinds } = await kindsOf(fresh, table, columns);
      const values = columns.map((name) => rows.map((row) => row[name]));
      const casts = kinds.map((type, index) =>
        type === "bytea" ? `decode(c${index}, 'hex')` : `c${index}::${type}`,
      );
      const input = columns.map((_, index) => `$${index + 1}::text[]`).join(", ");
      const names = columns.map((_, index) => `c${index}`).join(", ");
      await query(
        `INSERT INTO ${table} (${columns.join(", ")})
         SELECT ${casts.join(", ")} FROM unnest(${input}) AS input (${names})`,
        values,
      );
    },
    execute: async (sql) => {
      await query(sql);
    },
    source: (options) => postgresSource(url, options),
    sessions: async () => {
      const [row] = await query<{ sessions: number }>(
        `SELECT count(*)::int AS sessions FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = '${APPLICATION}'`,
      );
      return row?.sessions ?? 0;
    },
  };
}

async function kindsOf(
  { query }: FreshDatabase,
  table: string,
  columns: readonly string[],
): Promise<{ kinds: readonly string[] }> {
  const rows = await query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type
     FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0`,
    [table],
  );
  return { kinds: columns.map((name) => rows.find((row) => row.name === name)?.type ?? "text") };
}
