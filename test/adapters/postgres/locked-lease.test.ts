import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { PostgresDatabase } from "../../../src/adapters/postgres/database.ts";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import { Secret } from "../../../src/core/secret.ts";
import { freshDatabase } from "../../support/fresh-database.ts";

/** A ledger whose lease a holder keeps locked, as one that was stopped in the middle of a write. */
async function aLockedLease(ttlMs: number): Promise<SqlLedger> {
  const { url } = await freshDatabase();
  const database = new PostgresDatabase({ url: new Secret(url), applicationName: "test", maxConnections: 2 });
  const ledger = new SqlLedger(database, { tablePrefix: "groupsync_" }, "default");
  await ledger.prepare();
  expect(await ledger.acquireLease("stopped", ttlMs)).toMatchObject({ kind: "acquired" });
  const stopped = new pg.Client(url);
  onTestFinished(async () => {
    await stopped.end();
    await database.close();
  });
  await stopped.connect();
  await stopped.query("BEGIN");
  await stopped.query("SELECT 1 FROM groupsync_leases FOR KEY SHARE");
  return ledger;
}

test.each([
  ["while it is good", 60_000],
  ["when it has run out", 0],
])("a lease whose holder stands still in a transaction is held, %s", async (_, ttlMs) => {
  const ledger = await aLockedLease(ttlMs);
  expect(await ledger.acquireLease("another", 60_000)).toMatchObject({
    kind: "held",
    by: { holder: "stopped", epoch: "1" },
  });
});

test("nor can it be seized before the transaction has ended", async () => {
  const ledger = await aLockedLease(60_000);
  const attempt = await ledger.acquireLease("another", 60_000);
  if (attempt.kind !== "held") throw new Error("the lease should be held");
  expect(await ledger.seizeLease(attempt.by, "another", 60_000)).toBeUndefined();
});
