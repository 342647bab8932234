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

test.each(["while it rests", "in a transaction"])("a connection that breaks %s is counted", async (when) => {
  const { url, cut } = await ledgerDatabase();
  const database = aDatabase(url);
  await database.query("SELECT 1");
  expect(database.broken).toBe(0);
  if (when === "while it rests") await cut();
  else {
    const writing = database.transaction(database.dialect.begin.write, async (connection) => {
      await cut();
      await connection.query("SELECT 1");
    });
    await expect(writing).rejects.toThrow();
  }
  await expect.poll(() => database.broken).toBeGreaterThan(0);
});

test("connections that are closed in order are not counted as broken", async () => {
  const { url } = await ledgerDatabase();
  const database = aDatabase(url);
  await expect(database.query("SELECT nothing FROM nowhere")).rejects.toThrow();
  await database.close();
  expect(database.broken).toBe(0);
});
