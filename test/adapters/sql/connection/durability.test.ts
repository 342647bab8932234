import { expect, inject, test } from "vitest";
import { aDatabase, ledgerDatabase } from "../ledger/ledger-database.ts";

/** As the tests' own servers are set, to be quick. */
const RISKY = { postgres: "fsync = off", mysql: "innodb_flush_log_at_trx_commit = 0" } as const;
const NAMES = { postgres: "GROUPSYNC_TEST_POSTGRES_URL", mysql: "GROUPSYNC_TEST_MYSQL_URL" } as const;

test.skipIf(process.env[NAMES[inject("databaseKind")]])(
  "a server says by which of its settings a crash takes commits back",
  async () => {
    const { url, kind } = await ledgerDatabase();
    const database = aDatabase(url);
    const risks = await database.dialect.durabilityRisks(database);
    expect(risks.map(({ setting }) => setting)).toContain(RISKY[kind]);
  },
);
