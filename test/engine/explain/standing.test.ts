import { describe, expect, test } from "vitest";
import type { RecordedFailure } from "../../../src/core/failure/group-failures.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { PlanningContext } from "../../../src/core/record/decide.ts";
import { plainText } from "../../../src/core/text/printable.ts";
import type { Explanation } from "../../../src/engine/explain/explain-tenant.ts";
import { standingOf } from "../../../src/engine/explain/standing.ts";
import { anExplanation, aRecordedGroup, NO_RECORDED_FAILURES } from "../../builders/explained.ts";
import {
  aChangeFailure,
  aDesiredTenant,
  aFlaggedTenant,
  anAbsence,
  aRejectedTenant,
  failures,
} from "../../builders/groups.ts";

const SYNC_IT = "groupsync sync --only acme";
const failure: RecordedFailure = {
  code: "REFUSED",
  message: "no",
  count: 3,
  since: new Date("2026-03-01T00:00:00Z"),
  retryAt: new Date("2026-03-01T03:00:00Z"),
};
const failing = (kind: "rotation" | "storing") => ({
  group: aRecordedGroup({ failures: { ...NO_RECORDED_FAILURES, [kind]: failure } }),
});
const renamed = aDesiredTenant({ name: "Renamed" });
const failingChange = (code = failure.code, retryAt = failure.retryAt) => ({
  tenant: renamed,
  group: aRecordedGroup({
    failures: failures({ change: aChangeFailure({ fingerprint: renamed.fingerprint, code, retryAt }) }),
  }),
});
const due = anAbsence({ at: { ms: -100 * 3_600_000, reads: 1 } });
const IN_DOUBT = { group: aRecordedGroup({ doubt: "rewind" }) };
type Overrides = Parameters<typeof anExplanation>[0];

test.each<[string, string, Overrides, Partial<PlanningContext>, command: string | null]>([
  ["a tenant in sync", "in_sync", {}, {}, null],
  ["one without a group", "new", { group: null }, {}, SYNC_IT],
  ["another row", "changed", { tenant: renamed }, {}, SYNC_IT],
  ["another row, to be replaced", "changed", { tenant: renamed }, { update: "replace" }, SYNC_IT],
  ["another row, never updated", "outdated", { tenant: renamed }, { update: "never" }, null],
  ["a rejected row", "rejected", { tenant: aRejectedTenant() }, {}, SYNC_IT],
  ["a row that waits", "not_ready", { tenant: { kind: "not_ready", user_group_id: "acme" } }, {}, null],
  ["no row, within the grace period", "missing", { tenant: undefined }, {}, null],
  ["a flag, and groups that are kept", "missing", { tenant: aFlaggedTenant() }, noDeletions(), null],
  [
    "no row, after the grace period",
    "deletion_due",
    { tenant: undefined, group: aRecordedGroup({ absence: due }) },
    {},
    "groupsync sync",
  ],
  [
    "a held deletion",
    "held",
    { tenant: undefined, group: aRecordedGroup({ absence: due, held: "delete" }), approval: "c0de" },
    {},
    "groupsync sync --approve-deletions c0de",
  ],
  [
    "a held replacement without a code",
    "held",
    { tenant: renamed, group: aRecordedGroup({ held: "replace" }) },
    { update: "replace" },
    "groupsync plan",
  ],
  ["a call under way", "under_way", { group: aRecordedGroup({ intent: "apply" }) }, {}, SYNC_IT],
  ["a rotation under way", "under_way", { group: aRecordedGroup({ intent: "rotate" }) }, {}, SYNC_IT],
  [
    "a new token that is wanted",
    "rotation_wanted",
    { group: aRecordedGroup({ wantedSince: new Date(0) }) },
    {},
    SYNC_IT,
  ],
  ["a group in doubt", "in_doubt", IN_DOUBT, {}, SYNC_IT],
  ["a group in doubt that no GET may change", "in_doubt", IN_DOUBT, { update: "never" }, null],
  [
    "a deletion under way",
    "under_way",
    { tenant: undefined, group: aRecordedGroup({ intent: "delete" }) },
    {},
    "groupsync sync",
  ],
  ["a failed change that waits", "failing", failingChange(), {}, SYNC_IT],
  ["a failed change whose next try is due", "failing", failingChange(), { now: failure.retryAt }, SYNC_IT],
  ["a store without the token", "token_not_stored", { copies: { kind: "no token" } }, {}, SYNC_IT],
  [
    "a store that can't be read",
    "store_unreadable",
    { copies: { kind: "unreadable", error: new SyncError("TOKEN_STORE_UNAVAILABLE", "no such directory") } },
    {},
    "groupsync check",
  ],
  ["a store that refused the token", "token_not_stored", failing("storing"), {}, SYNC_IT],
  ["a failed rotation", "rotation_failing", failing("rotation"), {}, "groupsync rotate --only acme"],
  ["a flagged row without a group", "gone", { tenant: aFlaggedTenant(), group: null }, {}, null],
  ["a deleted group", "gone", { tenant: undefined, group: null }, {}, null],
])("%s: %s", (_, state, overrides, context, command) => {
  expect(standingOf(anExplanation(overrides, context))).toMatchObject({ state, command });
});

function noDeletions(): Partial<PlanningContext> {
  return { deletion: { when: "never", gracePeriodMs: 0, limit: { count: 3, percent: 10 } } };
}

test.each([
  ["NOT_UPDATED", /groupsync probe finds that a GET never changes a group, set service.update to replace/],
  ["REFUSED", /^compare the group's name, mapping and properties/],
  ["UNHEARD_OF", /^fix what the message names$/],
])("the advice for a failing group is the action of its code: %s", (code, advice) => {
  expect(standingOf(anExplanation(failingChange(code, new Date(0)))).advice).toMatch(advice);
});

describe("the reason", () => {
  const reasonOf = (overrides: Overrides): string => plainText(standingOf(anExplanation(overrides)).reason);

  test("has the row's mistake, and what becomes of the group", () => {
    const tenant = aRejectedTenant();
    expect(reasonOf({ tenant })).toBe(
      "its group stays as it is, because its row is rejected (VALUE_NULL): mapping.40 (column source) is null",
    );
    expect(reasonOf({ tenant, group: null })).toMatch(/^it gets no group, because/);
  });

  test("has the code of a failure, and when it is tried again", () => {
    expect(reasonOf(failingChange())).toBe(
      "the last try failed with REFUSED; a sync tries again after 2026-03-01T03:00:00.000Z",
    );
  });

  test("tells a wrong token from a missing one, and both from a store that can't be read", () => {
    const error = new SyncError("TOKEN_STORE_UNAVAILABLE", "no such directory");
    const copies: Explanation["copies"][] = [
      { kind: "another token", fingerprint: "f" },
      { kind: "no token" },
      { kind: "in some stores" },
      { kind: "unreadable", error },
    ];
    expect(new Set(copies.map((kind) => reasonOf({ copies: kind }))).size).toBe(copies.length);
  });
});
