import { expect } from "vitest";
import { groupOf, type LedgerDatabase, opened } from "../../contracts/ledger/rig.ts";

/** Of a token that one store lacks, and of an update that was refused. `utc` is what has a time be one of UTC. */
export const notEverywhereInVersion5 = (utc: "" | "Z"): string => `
  INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, token_fingerprint,
    failure_fingerprint, failure_code, failure_message, failure_count, retry_at, failing_since, created_at, updated_at)
  VALUES
    ('default', 'lagging', 7, 4711, 'f', 't',
      'not_everywhere', 'TOKEN_NOT_EVERYWHERE', 'one has it', 3, '2026-03-03T00:00:00${utc}', '2026-03-01T00:00:00${utc}', '2026-01-01T00:00:00${utc}', '2026-02-01T00:00:00${utc}'),
    ('default', 'refused', 7, 4711, 'f', 't',
      'g', 'REFUSED', 'no', 2, '2026-03-03T00:00:00${utc}', '2026-03-02T00:00:00${utc}', '2026-01-01T00:00:00${utc}', '2026-02-01T00:00:00${utc}')`;

/** What the first is failing with is about its token, and the other as before. */
export async function expectOwnPlace(database: LedgerDatabase): Promise<void> {
  const at = await opened(async () => database);
  const lagging = {
    code: "TOKEN_NOT_EVERYWHERE",
    message: "one has it",
    count: 3,
    retryAt: new Date("2026-03-03T00:00:00Z"),
  };
  const refused = { code: "REFUSED", message: "no", count: 2, retryAt: new Date("2026-03-03T00:00:00Z") };
  expect(await at.ledger.vouchedTokens({ limit: 9, of: "not everywhere" })).toMatchObject([
    { user_group_id: "lagging", failure: lagging },
  ]);
  expect(await groupOf(at, "lagging")).toMatchObject({ failure: null });
  expect(await groupOf(at, "refused")).toMatchObject({ failure: { fingerprint: "g", ...refused } });
  expect((await at.ledger.status()).failing).toEqual([
    { user_group_id: "lagging", ...lagging, since: new Date("2026-03-01T00:00:00Z") },
    { user_group_id: "refused", ...refused, since: new Date("2026-03-02T00:00:00Z") },
  ]);
}
