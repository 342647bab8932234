import { expect, inject, test } from "vitest";
import { changeFeedContract, type FeedDatabase, type FeedWords } from "../../../contracts/change-feed.ts";
import { endSessions } from "../../../support/databases/end-sessions.ts";
import { type DatabaseKind, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { endWithSilentHost } from "../connection/silent-host.ts";
import { APPLICATION, changeFeed, changeReader } from "./source-database.ts";

const kind = inject("databaseKind");

interface Kind {
  readonly name: string;
  readonly words: FeedWords;
  /** A view `customers` that notes each look in a table `looks`. */
  readonly notingView: readonly string[];
  readonly openTransactions: string;
}

const OTHERS = `FROM pg_stat_activity WHERE application_name = '${APPLICATION}' AND datname = current_database()`;

const KINDS: Readonly<Record<DatabaseKind, Kind>> = {
  postgres: {
    name: "PostgreSQL",
    words: {
      zoned: "timestamptz",
      naive: "timestamp",
      wholeSeconds: "timestamp(0)",
      numbers: ["int4", "int8", "numeric"],
      wrong: ["text", "date", "float8", "timestamptz[]"],
      time: (text) => `'${text}+00'`,
      now: (seconds) => `now() + interval '${seconds} s'`,
      utcNow: (seconds) => `timezone('UTC', now()) + interval '${seconds} s'`,
      index: (table, column) => `CREATE INDEX ON ${table} (${column})`,
    },
    notingView: [
      `CREATE FUNCTION note() RETURNS int LANGUAGE sql AS $$ INSERT INTO looks VALUES ('a', 1) RETURNING 1 $$`,
      "CREATE OR REPLACE VIEW customers AS SELECT CAST('a' AS varchar(40)) AS id, note() AS changed",
    ],
    openTransactions: `SELECT count(*)::int AS count ${OTHERS} AND xact_start IS NOT NULL`,
  },
  mysql: {
    name: "MySQL",
    words: {
      zoned: "timestamp(6) NULL",
      naive: "datetime(6)",
      wholeSeconds: "datetime",
      numbers: ["int", "bigint", "decimal(20, 2)"],
      wrong: ["text", "date", "double", "year"],
      time: (text) => `'${text}'`,
      now: (seconds) => `NOW(6) + INTERVAL ${seconds} SECOND`,
      utcNow: (seconds) => `UTC_TIMESTAMP(6) + INTERVAL ${seconds} SECOND`,
      index: (table, column) => `CREATE INDEX by_change ON ${table} (${column})`,
    },
    notingView: [
      `CREATE FUNCTION note() RETURNS int DETERMINISTIC MODIFIES SQL DATA
       BEGIN INSERT INTO looks VALUES ('a', 1); RETURN 1; END`,
      "CREATE OR REPLACE VIEW customers AS SELECT 'a' AS id, note() AS changed",
    ],
    openTransactions: `SELECT count(*) AS count FROM information_schema.innodb_trx
      WHERE trx_mysql_thread_id IN (SELECT id FROM ${PROCESS_LIST} WHERE db = database() AND id <> connection_id())`,
  },
};

const { name, words, notingView, openTransactions } = KINDS[kind];

async function feedDatabase(): Promise<FeedDatabase> {
  const fresh = await freshDatabase();
  return {
    execute: (sql) => fresh.query(sql),
    feed: (settings) => changeFeed(fresh, settings),
    cut: () => endSessions(fresh),
    openTransactions: async () => Number((await fresh.query<{ count: string }>(openTransactions))[0]?.count),
  };
}

changeFeedContract(name, words, feedDatabase);

test.each(["newest", "rows"] as const)(
  "a question for %s ends after a minute if the host has gone",
  async (what) => {
    const fresh = await freshDatabase();
    await fresh.query("CREATE TABLE customers (id varchar(40), changed bigint)");
    const line = await tcpProxy(fresh.url);
    const reader = await changeReader({ kind, url: line.url });
    const ended = await endWithSilentHost(line, () =>
      what === "newest" ? reader.newest() : reader.rows(null, 1),
    );
    expect(ended).toMatchObject({ message: expect.stringContaining("has not answered for 60 s") });
  },
);

test("a view that writes is refused at each look", async () => {
  const database = await freshDatabase();
  await database.query("CREATE TABLE looks (id varchar(40), changed int)");
  await database.query("CREATE VIEW customers AS SELECT id, changed FROM looks");
  const reader = await changeReader(database);
  expect(await reader.rows(null, 10)).toEqual([]);
  for (const statement of notingView) await database.query(statement);
  await expect(reader.rows(null, 10)).rejects.toThrow(/read.only transaction/i);
  expect(await database.query("SELECT * FROM looks")).toEqual([]);
});
