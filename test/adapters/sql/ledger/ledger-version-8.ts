import { expect } from "vitest";
import { type LedgerDatabase, NOW, opened, write } from "../../../contracts/ledger/rig.ts";

/** A rejected row, as version 8 remembered it. `zone` is what a time ends with. */
export const aRejectionInVersion8 = (zone: string): string =>
  `INSERT INTO groupsync_rejections (scope, user_group_id, code, bucket, message, row_count, since) VALUES
   ('default', 'acme', 'VALUE_NULL', 7, 'no', 1, '2026-01-01T00:00:00${zone}')`;

/** Expects that the migration from version 8 makes room for a canary, and leaves the rest as it is. */
export async function expectCanaryRemembered(database: LedgerDatabase): Promise<void> {
  await expect(database.view().canary()).rejects.toMatchObject({ code: "LEDGER_OUTDATED" });
  const at = await opened(async () => database);
  expect(await at.ledger.rejections()).toMatchObject([{ user_group_id: "acme", bucket: 7, rows: 1 }]);
  expect(await at.ledger.canary()).toBeNull();
  const canary = { user_group_id: "groupsync-canary-0", baseUrl: "https://service.test" };
  await write(at, (transaction) => transaction.beginCanary(canary, NOW));
  expect(await at.ledger.canary()).toEqual(canary);
}
