import mysql from "mysql2";
import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { MYSQL } from "../../../../src/adapters/mysql/source/tenant-source.ts";
import { POSTGRES } from "../../../../src/adapters/postgres/source/tenant-source.ts";
import type { SessionTimeouts } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import { sqlChangeFeed } from "../../../../src/adapters/sql/source/change-feed.ts";
import type { SourceDialect } from "../../../../src/adapters/sql/source/source-dialect.ts";
import { sqlTenantSource } from "../../../../src/adapters/sql/source/tenant-source.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { ChangeFeed, ChangeReader } from "../../../../src/ports/change-feed.ts";
import type { TenantSource } from "../../../../src/ports/tenant-source.ts";
import type { FeedSettings } from "../../../contracts/change-feed.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import type { ColumnKind, SourceDatabase, SourceOptions } from "../../../contracts/tenant-source.ts";
import {
  type DatabaseKind,
  type FreshDatabase,
  freshDatabase,
  type Place,
} from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";

export const APPLICATION = "groupsync:source-under-test";

const TIMEOUTS: SessionTimeouts = { lockMs: 30_000, silenceMs: 600_000 };

const sourceBy =
  (dialect: SourceDialect) =>
  (url: string, options: SourceOptions, timeouts = TIMEOUTS): TenantSource =>
    sqlTenantSource(dialect, {
      url: new Secret(url),
      applicationName: APPLICATION,
      timeouts,
      ...options,
    });

export const postgresSource = sourceBy(POSTGRES);
export const mysqlSource = sourceBy(MYSQL);

/** A source of tenants in either kind of database, by the database's url. */
export const SOURCES = { postgres: postgresSource, mysql: mysqlSource } as const;

const DIALECTS = { postgres: POSTGRES, mysql: MYSQL } as const;

export const changeFeed = (
  { kind, url }: Pick<Place, "kind" | "url">,
  { changeColumn = "changed", columns = ["id", "name"], ...settings }: FeedSettings,
): ChangeFeed =>
  sqlChangeFeed(DIALECTS[kind], {
    url: new Secret(url),
    applicationName: APPLICATION,
    timeouts: TIMEOUTS,
    changeColumn,
    columns,
    ...settings,
  });

/** Reads the changes of customers until the test is over. */
export async function changeReader(
  place: Pick<Place, "kind" | "url">,
  settings: FeedSettings = { columns: ["id"] },
): Promise<ChangeReader> {
  const reader = await changeFeed(place, { table: "customers", ...settings }).open(NEVER);
  onTestFinished(() => reader.close());
  return reader;
}

interface Words {
  readonly types: Readonly<Record<ColumnKind, string>>;
  readonly text: (text: string) => string;
  readonly bytes: (hexadecimal: string) => string;
  /** Counts the connections that sources have open. */
  readonly sessions: string;
}

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    types: {
      text: "text",
      smallint: "smallint",
      integer: "integer",
      bigint: "bigint",
      timestamp: "timestamp",
      json: "jsonb",
      bytes: "bytea",
    },
    text: pg.escapeLiteral,
    bytes: (hexadecimal) => `decode('${hexadecimal}', 'hex')`,
    sessions: `SELECT count(*) AS sessions FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = '${APPLICATION}'`,
  },
  mysql: {
    types: {
      text: "text",
      smallint: "smallint",
      integer: "int",
      bigint: "bigint",
      timestamp: "datetime(6)",
      json: "json",
      bytes: "blob",
    },
    text: (text) => mysql.escape(text),
    bytes: (hexadecimal) => `x'${hexadecimal}'`,
    sessions: `SELECT count(*) AS sessions FROM ${PROCESS_LIST}
      WHERE db = database() AND id <> connection_id()`,
  },
};

export async function sourceDatabase(
  kind: DatabaseKind = inject("databaseKind"),
): Promise<SourceDatabase & FreshDatabase> {
  const fresh = await freshDatabase(kind);
  const { url, query } = fresh;
  const words = WORDS[kind];
  const kinds = new Map<string, ColumnKind>();
  const literal = (column: string, text: string | null): string => {
    if (text === null) return "NULL";
    return kinds.get(column) === "bytes" ? words.bytes(text) : words.text(text);
  };
  return {
    ...fresh,
    create: async (table, columns) => {
      const definitions = Object.entries(columns).map(([name, type]) => {
        kinds.set(`${table}.${name}`, type);
        return `${name} ${words.types[type]}`;
      });
      await query(`CREATE TABLE ${table} (${definitions.join(", ")})`);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {});
      if (columns.length === 0) return;
      const tuples = rows.map((row) =>
        columns.map((name) => literal(`${table}.${name}`, row[name] ?? null)).join(", "),
      );
      await query(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${tuples.join("), (")})`);
    },
    execute: async (sql) => {
      await query(sql);
    },
    source: (options) => SOURCES[kind](url, options),
    sessions: async () => {
      const [row] = await query<{ sessions: string }>(words.sessions);
      return Number(row?.sessions);
    },
  };
}
