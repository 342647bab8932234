import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { leaseOf, NOW, prepared } from "../../../contracts/ledger/rig.ts";
import { ledgerDatabase } from "./ledger-database.ts";

test("an instance that held the lease before an older ledger was restored can't write beside the next holder", async () => {
  const database = await ledgerDatabase();
  const ledger = await prepared(database);
  const yesterday = await leaseOf(ledger, "yesterday");
  await ledger.releaseLease(yesterday);
  const former = await leaseOf(ledger, "from before the restore");

  await database.query("UPDATE groupsync_leases SET epoch = $1, holder = '', expires_at = acquired_at", [
    yesterday.epoch,
  ]);
  // Two moments differ by a millisecond at least.
  await sleep(5);
  const next = await leaseOf(ledger, "after the restore");
  const write = (lease: typeof next) =>
    ledger.write(lease, (transaction) => transaction.recordTokensVerified(NOW));
  await expect(write(former)).rejects.toMatchObject({ code: "LEASE_LOST" });
  expect(await ledger.renewLease(former, 1_000)).toBe(false);
  await write(next);
});
