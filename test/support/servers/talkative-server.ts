import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { DatabaseKind, Query } from "../databases/database-server.ts";
import { type FreshDatabase, SERVERS } from "../databases/fresh-database.ts";
import { startMariadb } from "../mysql/embedded-mariadb.ts";
import { mariadbPrograms } from "../mysql/mariadb-binaries.ts";
import { startPostgres } from "../postgres/embedded-postgres.ts";
import type { EmbeddedServer } from "./embedded-server.ts";

/** So long that no hash in what the program prints has it by chance. */
const PASSWORD = "a-password-of-groupsync";

export interface TalkativeServer {
  /** As a role `groupsync` that has a place of its own, and no other right. */
  readonly database: FreshDatabase;
  readonly asAdministrator: Query;
  /** What the server has logged of statements since it was last asked, by anybody: entry by entry. */
  logged(): Promise<readonly string[]>;
}

interface Talkative {
  /** Whether this machine can start one. */
  readonly isThere: boolean;
  start(): Promise<EmbeddedServer>;
  readonly createRole: readonly string[];
  /** The role's database; left out if it is the administrator's. */
  readonly pathname?: string;
  logged(server: EmbeddedServer, query: Query): Promise<readonly string[]>;
}

const BETWEEN = "@@ ";

const postgres: Talkative = {
  isThere: !process.env.GROUPSYNC_TEST_POSTGRES_URL,
  start: () =>
    startPostgres({
      settings: {
        log_min_messages: "info",
        log_statement: "all",
        log_min_duration_statement: "0",
        log_error_verbosity: "verbose",
        log_parameter_max_length: "-1",
        log_parameter_max_length_on_error: "-1",
        log_line_prefix: BETWEEN,
      },
    }),
  createRole: [
    `CREATE ROLE groupsync LOGIN PASSWORD '${PASSWORD}'`,
    // It is in the role's path of its own accord.
    "CREATE SCHEMA groupsync AUTHORIZATION groupsync",
  ],
  logged: async ({ log }) => log.join("\n").split(BETWEEN),
};

const mysql: Talkative = {
  // Where it can't, the global setup says so aloud.
  isThere: await mariadbPrograms().then(
    () => true,
    () => false,
  ),
  start: () =>
    startMariadb({
      settings: {
        slow_query_log: "1",
        long_query_time: "0",
        log_queries_not_using_indexes: "1",
        log_slow_admin_statements: "1",
        log_output: "TABLE",
      },
    }),
  createRole: [
    "CREATE DATABASE groupsync CHARACTER SET utf8mb4",
    `CREATE USER groupsync IDENTIFIED BY '${PASSWORD}'`,
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON groupsync.* TO groupsync",
  ],
  pathname: "/groupsync",
  logged: async (_, query) => {
    const rows = await query<{ text: string }>(
      "SELECT CONVERT(sql_text USING utf8mb4) AS text FROM mysql.slow_log",
    );
    return rows.map(({ text }) => text);
  },
};

const TALKATIVE: Readonly<Record<DatabaseKind, Talkative>> = { postgres, mysql };

export const canTalk = (kind: DatabaseKind): boolean => TALKATIVE[kind].isThere;

/** A server of the test's own that logs of every statement what it can, in the logs that stay on in production. */
export async function aTalkativeServer(kind: DatabaseKind): Promise<TalkativeServer> {
  const { start, createRole, pathname, logged } = TALKATIVE[kind];
  const server = await start();
  onTestFinished(server.stop);
  const connect = (url: string): Query => {
    const { query, end } = SERVERS[kind].connect(url);
    onTestFinished(end);
    return query;
  };
  const asAdministrator = connect(server.url);
  for (const statement of createRole) await asAdministrator(statement);
  const url = new URL(server.url);
  Object.assign(url, { username: "groupsync", password: PASSWORD, ...(pathname && { pathname }) });

  let asked = 0;
  let known = 0;
  return {
    database: { kind, name: url.pathname.slice(1), url: url.href, query: connect(url.href) },
    asAdministrator,
    logged: async () => {
      const last = `asked ${++asked} times`;
      await asAdministrator(`SELECT '${last}'`);
      for (;;) {
        const entries = await logged(server, asAdministrator);
        if (entries.some((entry) => entry.includes(`SELECT '${last}'`))) {
          const fresh = entries.slice(known);
          known = entries.length;
          return fresh;
        }
        await sleep(10);
      }
    },
  };
}
