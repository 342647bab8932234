import { expect, onTestFinished } from "vitest";
import { PostgresDatabase } from "../../../src/adapters/postgres/database.ts";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import type { LedgerLocation } from "../../../src/adapters/sql/ledger-tables.ts";
import { SqlLedgerView } from "../../../src/adapters/sql/ledger-view.ts";
import { Secret } from "../../../src/core/secret.ts";
import type { FormerToken, LedgerDatabase } from "../../contracts/ledger/rig.ts";
import { type FreshDatabase, freshDatabase, type Row } from "../../support/fresh-database.ts";

export const LOCATION: LedgerLocation = { tablePrefix: "groupsync_" };

/** A pool that is closed when the test is over. */
export function aDatabase(url: string): PostgresDatabase {
  const database = new PostgresDatabase({
    url: new Secret(url),
    applicationName: "groupsync:under-test",
    maxConnections: 3,
  });
  onTestFinished(() => database.close());
  return database;
}

export async function postgresLedgerDatabase(): Promise<LedgerDatabase & FreshDatabase> {
  const fresh = await freshDatabase();
  const { url, query } = fresh;
  const tables = async (): Promise<string[]> => {
    const rows = await query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
    );
    return rows.map((row) => row.name);
  };
  return {
    ...fresh,
    ledger: (scope = "default") => new SqlLedger(aDatabase(url), LOCATION, scope),
    view: (scope = "default") => new SqlLedgerView(aDatabase(url), LOCATION, scope),
    tables,
    formerTokens: (scope = "default") =>
      query<FormerToken & Row>(
        `SELECT user_group_id, token_fingerprint AS fingerprint, live_since AS since, live_until AS until
         FROM groupsync_former_tokens WHERE scope = $1 ORDER BY id`,
        [scope],
      ),
    dump: async () => {
      const texts: string[] = [];
      for (const table of await tables()) {
        const rows = await query<{ text: string }>(`SELECT t::text AS text FROM ${table} AS t ORDER BY 1`);
        texts.push(table, ...rows.map((row) => row.text));
      }
      return texts.join("\n");
    },
    setVersion: async (version) => {
      await query("DELETE FROM groupsync_migrations");
      await query("INSERT INTO groupsync_migrations (version) VALUES ($1)", [version]);
    },
    analyze: async () => {
      await query("ANALYZE groupsync_groups");
    },
    untilBlocked: async () => {
      await expect
        .poll(() =>
          query(
            `SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
          ),
        )
        .toHaveLength(1);
    },
    cut: async () => {
      await query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
    },
  };
}
