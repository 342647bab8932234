import { expect, onTestFinished, test } from "vitest";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";

/** A ledger whose lease a holder keeps locked, as one that was stopped in the middle of a write. */
async function aLockedLease(ttlMs: number): Promise<SqlLedger> {
  const { url } = await ledgerDatabase();
  const ledger = new SqlLedger(aDatabase(url), LOCATION, "default", HISTORY_MS);
  await ledger.prepare();
  const attempt = await ledger.acquireLease("stopped", ttlMs);
  if (attempt.kind === "held") throw new Error("the lease should be free");
  await new Promise<void>((locked, failed) => {
    const stopped = ledger.write(attempt.lease, async () => {
      locked();
      await new Promise<void>((goOn) => onTestFinished(() => goOn()));
    });
    stopped.catch(failed);
    onTestFinished(() => stopped);
  });
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
