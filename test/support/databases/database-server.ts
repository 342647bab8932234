import { inject, TestRunner } from "vitest";

export type DatabaseKind = "postgres" | "mysql";

/** What names a server to use in place of one that the run starts. */
export const SERVER_VARIABLES = {
  postgres: "GROUPSYNC_TEST_POSTGRES_URL",
  mysql: "GROUPSYNC_TEST_MYSQL_URL",
} as const satisfies Record<DatabaseKind, string>;

export type Row = Record<string, unknown>;
export type Query = <R extends Row = Row>(text: string, values?: readonly unknown[]) => Promise<R[]>;

/** A session that somebody left open. */
export interface Session {
  /** Who it is: the application's name, or the account and the number of the connection. */
  readonly client: string;
  readonly state: string;
  /** The last statement that the session ran, if the server remembers it. */
  readonly query: string;
}

export interface Connections {
  readonly query: Query;
  /** Undoes what a test has done to its session. */
  reset(): Promise<void>;
  end(): Promise<void>;
}

/** What the tests have to know about a kind of database server. */
export interface ServerKind {
  /** Connects to a database by its url: one connection, and a new one if a test has broken it. */
  connect(url: string): Connections;
  create(server: Query, database: string): Promise<void>;
  /** Makes a database as a new one is, or fails; `query` asks in it. */
  empty(query: Query, database: string): Promise<void>;
  /** Does away with a database that nobody is connected to. */
  remove(server: Query, database: string): Promise<void>;
  /** But for the session that asks. */
  sessionsIn(query: Query, database: string): Promise<Session[]>;
}

/** The url of this run's server. Where the run has none, the test that asks for it is skipped. */
export function serverUrl(kind: DatabaseKind): string {
  const url = inject(kind === "postgres" ? "postgresUrl" : "mysqlUrl");
  if (url !== null) return url;
  const test = TestRunner.getCurrentTest();
  if (!test) throw new Error(`there is no ${kind} server, and no test to skip`);
  return test.context.skip(`there is no ${kind} server`);
}
