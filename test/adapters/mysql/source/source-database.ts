import mysql from "mysql2";
import { mysqlTenantSource } from "../../../../src/adapters/mysql/source/tenant-source.ts";
import type { SessionTimeouts } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { TenantSource } from "../../../../src/ports/tenant-source.ts";
import type { ColumnKind, SourceDatabase, SourceOptions } from "../../../contracts/tenant-source.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";

export const APPLICATION = "groupsync:source-under-test";

const TYPES: Readonly<Record<ColumnKind, string>> = {
  text: "text",
  smallint: "smallint",
  integer: "int",
  bigint: "bigint",
  timestamp: "datetime(6)",
  json: "json",
  bytes: "blob",
};

const TIMEOUTS: SessionTimeouts = { lockMs: 30_000, silenceMs: 600_000 };

export const mysqlSource = (url: string, options: SourceOptions, timeouts = TIMEOUTS): TenantSource =>
  mysqlTenantSource({ url: new Secret(url), applicationName: APPLICATION, timeouts, ...options });

export async function mysqlSourceDatabase(): Promise<SourceDatabase & FreshDatabase> {
  const fresh = await freshDatabase("mysql");
  const { url, query } = fresh;
  const kinds = new Map<string, ColumnKind>();
  return {
    ...fresh,
    create: async (table, columns) => {
      const definitions = Object.entries(columns).map(([name, kind]) => {
        kinds.set(`${table}.${name}`, kind);
        return `${name} ${TYPES[kind]}`;
      });
      await query(`CREATE TABLE ${table} (${definitions.join(", ")})`);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {});
      if (columns.length === 0) return;
      const tuples = rows.map((row) =>
        columns.map((name) => literal(kinds.get(`${table}.${name}`), row[name] ?? null)).join(", "),
      );
      await query(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${tuples.join("), (")})`);
    },
    execute: async (sql) => {
      await query(sql);
    },
    source: (options) => mysqlSource(url, options),
    sessions: async () => {
      const [row] = await query<{ sessions: string }>(
        `SELECT count(*) AS sessions FROM ${PROCESS_LIST}
         WHERE db = database() AND id <> connection_id()`,
      );
      return Number(row?.sessions);
    },
  };
}

function literal(kind: ColumnKind | undefined, text: string | null): string {
  if (text === null) return "NULL";
  return kind === "bytes" ? `x${mysql.escape(text)}` : mysql.escape(text);
}
