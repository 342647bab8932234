import { expect, inject, onTestFinished, test } from "vitest";
import { mysqlChangeFeed } from "../../../../src/adapters/mysql/source/change-feed.ts";
import { postgresChangeFeed } from "../../../../src/adapters/postgres/source/change-feed.ts";
import type { SessionTimeouts } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import type { FeedOptions } from "../../../../src/adapters/sql/source/change-feed.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { ChangeFeed } from "../../../../src/ports/change-feed.ts";
import {
  changeFeedContract,
  type FeedDatabase,
  type FeedSettings,
  type FeedWords,
} from "../../../contracts/change-feed.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import { endSessions } from "../../../support/databases/end-sessions.ts";
import { type DatabaseKind, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { endWithSilentHost } from "../connection/silent-host.ts";

const kind = inject("databaseKind");
const APPLICATION = "groupsync:feed-under-test";
const TIMEOUTS: SessionTimeouts = { lockMs: 30_000, silenceMs: 600_000 };

interface Kind {
  readonly name: string;
  readonly words: FeedWords;
  readonly feed: (options: FeedOptions) => ChangeFeed;
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
    feed: postgresChangeFeed,
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
    feed: mysqlChangeFeed,
    openTransactions: `SELECT count(*) AS count FROM information_schema.innodb_trx
      WHERE trx_mysql_thread_id IN (SELECT id FROM ${PROCESS_LIST} WHERE db = database() AND id <> connection_id())`,
  },
};

const { name, words, feed, openTransactions } = KINDS[kind];

async function feedDatabase(): Promise<FeedDatabase> {
  const fresh = await freshDatabase();
  return {
    execute: (sql) => fresh.query(sql),
    feed: ({ changeColumn = "changed", columns = ["id", "name"], ...settings }: FeedSettings) =>
      feed({
        url: new Secret(fresh.url),
        applicationName: APPLICATION,
        timeouts: TIMEOUTS,
        changeColumn,
        columns,
        ...settings,
      }),
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
    const options = { table: "customers", changeColumn: "changed", columns: ["id"] };
    const source = { url: new Secret(line.url), applicationName: APPLICATION, timeouts: TIMEOUTS };
    const reader = await feed({ ...source, ...options }).open(NEVER);
    onTestFinished(() => reader.close());
    const ended = await endWithSilentHost(line, () =>
      what === "newest" ? reader.newest() : reader.rows(null, 1),
    );
    expect(ended).toMatchObject({ message: expect.stringContaining("has not answered for 60 s") });
  },
);
