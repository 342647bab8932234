import { expect } from "vitest";
import { failures } from "../../../builders/groups.ts";
import { groupOf, type LedgerDatabase, opened } from "../../../contracts/ledger/rig.ts";

/**
 * Failures of each kind: a token that one store lacks, a rotation and an update that were refused. Of the rotation, nobody
 * knows since when. `utc` is what has a time be one of UTC.
 */
export const failuresInVersion5 = (utc: "" | "Z"): string => `
  INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, token_fingerprint,
    failure_fingerprint, failure_code, failure_message, failure_count, retry_at, failing_since, created_at, updated_at)
  VALUES
    ('default', 'lagging', 7, 4711, 'f', 't',
      'not_everywhere', 'TOKEN_NOT_EVERYWHERE', 'one has it', 3, '2026-03-03T00:00:00${utc}', '2026-03-01T00:00:00${utc}', '2026-01-01T00:00:00${utc}', '2026-02-01T00:00:00${utc}'),
    ('default', 'refused', 7, 4711, 'f', 't',
      'g', 'REFUSED', 'no', 2, '2026-03-03T00:00:00${utc}', '2026-03-02T00:00:00${utc}', '2026-01-01T00:00:00${utc}', '2026-02-01T00:00:00${utc}'),
    ('default', 'stuck', 7, 4711, 'f', 't',
      'rotated', 'REFUSED', 'no', 4, '2026-03-03T00:00:00${utc}', NULL, '2026-01-01T00:00:00${utc}', '2026-02-01T00:00:00${utc}')`;

/** Each kind has a place of its own. */
export async function expectKindsApart(database: LedgerDatabase): Promise<void> {
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
  const stuck = { ...refused, count: 4 };
  expect((await groupOf(at, "lagging"))?.failures).toEqual(failures({ storing: lagging }));
  expect((await groupOf(at, "refused"))?.failures).toEqual(
    failures({ change: { fingerprint: "g", ...refused } }),
  );
  expect((await groupOf(at, "stuck"))?.failures).toEqual(failures({ rotation: stuck }));
  expect((await at.ledger.status()).failing).toEqual([
    { user_group_id: "stuck", ...stuck, since: new Date("2026-02-01T00:00:00Z") },
    { user_group_id: "lagging", ...lagging, since: new Date("2026-03-01T00:00:00Z") },
    { user_group_id: "refused", ...refused, since: new Date("2026-03-02T00:00:00Z") },
  ]);
}
