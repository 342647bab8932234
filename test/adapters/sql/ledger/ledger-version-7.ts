import { expect } from "vitest";
import { aRejection } from "../../../builders/groups.ts";
import { groupOf, type LedgerDatabase, NOW, opened, write } from "../../../contracts/ledger/rig.ts";

/** A group at rest, as version 7 had it. `zone` is what a time ends with. */
export const anOwnedGroupInVersion7 = (zone: string): string =>
  `INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, token_fingerprint, created_at,
     updated_at) VALUES
   ('default', 'acme', 7, 4711, 'f', 't', '2026-01-01T00:00:00${zone}', '2026-01-01T00:00:00${zone}')`;

/** Expects that the migration from version 7 makes the memory of rejected rows, and leaves the rest as it is. */
export async function expectRejectionsRemembered(database: LedgerDatabase): Promise<void> {
  await expect(database.view().status()).rejects.toMatchObject({ code: "LEDGER_OUTDATED" });
  const at = await opened(async () => database);
  expect(await groupOf(at)).toMatchObject({
    fingerprint: "f",
    row: { bucket: 7, digest: "4711" },
    intent: null,
  });
  expect(await at.ledger.rejections()).toEqual([]);
  await write(at, (transaction) => transaction.recordRejections([aRejection()], [], NOW));
  expect(await at.ledger.status()).toMatchObject({
    groups: { total: 1, in_sync: 1 },
    rejected: [{ user_group_id: "acme", code: "VALUE_NULL", since: NOW }],
  });
}
