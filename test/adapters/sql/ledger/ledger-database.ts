import { expect, inject, onTestFinished } from "vitest";
import { MysqlDatabase } from "../../../../src/adapters/mysql/database.ts";
import { PostgresDatabase } from "../../../../src/adapters/postgres/database.ts";
import type { Database, DatabaseOptions } from "../../../../src/adapters/sql/dialect/database.ts";
import type { LedgerLocation } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { sqlLedger, sqlLedgerView } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { LedgerDatabase } from "../../../contracts/ledger/rig.ts";
import { endSessions } from "../../../support/databases/end-sessions.ts";
import {
  type DatabaseKind,
  type FreshDatabase,
  freshDatabase,
} from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";

export const LOCATION: LedgerLocation = { tablePrefix: "groupsync_" };
export const HISTORY_MS = 90 * 24 * 3_600_000;

const DATABASES = { postgres: PostgresDatabase, mysql: MysqlDatabase } as const;

/** A pool that is closed when the test is over, and that nobody tells to stop before. */
export function aDatabase(
  url: string,
  kind: DatabaseKind = inject("databaseKind"),
  more: Partial<DatabaseOptions> = {},
): Database {
  const database = new DATABASES[kind]({
    url: new Secret(url),
    applicationName: "groupsync:under-test",
    maxConnections: 3,
    idleMs: 30_000,
    timeouts: { lockMs: 30_000, silenceMs: 600_000 },
    stop: new AbortController().signal,
    ...more,
  });
  onTestFinished(() => database.close());
  return database;
}

/** What a test asks of a server past the ledger. */
interface Questions {
  /** Name and quoted name of every table that is not the server's own. */
  readonly tables: string;
  /** Everything in a row, as text. */
  readonly rowText: (table: string) => string;
  readonly analyze: string;
  /** A row for each session that waits for another's lock. */
  readonly blocked: string;
}

const QUESTIONS: Readonly<Record<DatabaseKind, Questions>> = {
  postgres: {
    tables: `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
    rowText: (table) => `SELECT t::text AS text FROM ${table} AS t ORDER BY 1`,
    analyze: "ANALYZE groupsync_groups",
    blocked: `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
  },
  mysql: {
    tables:
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = database() ORDER BY 1",
    rowText: (table) => `SELECT * FROM ${table}`,
    analyze: "ANALYZE TABLE groupsync_groups",
    blocked: `SELECT 1 FROM information_schema.innodb_trx JOIN ${PROCESS_LIST} ON id = trx_mysql_thread_id
      WHERE trx_state = 'LOCK WAIT' AND db = database()`,
  },
};

/** An empty database for a ledger. */
export const ledgerDatabase = async (kind?: DatabaseKind): Promise<LedgerDatabase & FreshDatabase> =>
  withLedgers(await freshDatabase(kind));

export function withLedgers(fresh: FreshDatabase): LedgerDatabase & FreshDatabase {
  const { url, query } = fresh;
  const questions = QUESTIONS[fresh.kind];
  // Each session costs more than most statements: all ledgers of a test share their connections.
  let shared: Database | undefined;
  const database = (): Database => {
    shared ??= aDatabase(url, fresh.kind, { maxConnections: 8 });
    return shared;
  };
  const tables = async (): Promise<string[]> => {
    const rows = await query<{ name: string }>(questions.tables);
    return rows.map((row) => row.name);
  };
  return {
    ...fresh,
    ledger: (scope = "default") => sqlLedger(database(), LOCATION, scope, HISTORY_MS),
    view: (scope = "default") => sqlLedgerView(database(), LOCATION, scope),
    tables,
    dump: async () => {
      const texts: string[] = [];
      for (const table of await tables()) {
        const rows = await query(questions.rowText(table));
        texts.push(table, ...rows.map((row) => JSON.stringify(row)));
      }
      return texts.join("\n");
    },
    setVersion: async (version) => {
      await query("DELETE FROM groupsync_migrations");
      await query("INSERT INTO groupsync_migrations (version, applied_at) VALUES ($1, $2)", [
        version,
        new Date(),
      ]);
    },
    analyze: async () => {
      await query(questions.analyze);
    },
    untilBlocked: async () => {
      // InnoDB shows its transactions as they were, to whoever asks again within a tenth of a second.
      await expect.poll(() => query(questions.blocked), { interval: 150, timeout: 10_000 }).toHaveLength(1);
    },
    cut: () => endSessions(fresh),
  };
}
