import fc from "fast-check";
import { expect, test } from "vitest";
import type { Tenant } from "../../../src/core/group/tenant.ts";
import type { Change, Upsert } from "../../../src/core/plan/change.ts";
import { confirmedGroup } from "../../../src/core/record/candidates.ts";
import { decide } from "../../../src/core/record/decide.ts";
import { type GroupEvent, next } from "../../../src/core/record/next.ts";
import { owes } from "../../../src/core/record/owes.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { aDecisionContext, aDeleted, aDesiredTenant, anApplied } from "../../builders/groups.ts";
import { aLife } from "../../builders/records.ts";
import { SEED } from "../../support/databases/seed.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const CONTEXT = aDecisionContext({ now: NOW, eager: true, serviceUpdates: true });
const NO_GRACE = { ...CONTEXT, deletion: { ...CONTEXT.deletion, gracePeriodMs: 0 } };
const MOST_STEPS = 16;

/** A call that the service and the stores do well. */
const done = (change: Change): GroupEvent[] => [
  { kind: "begun", change },
  {
    kind: "ended",
    outcome:
      change.kind === "delete"
        ? aDeleted({ change })
        : anApplied({ kind: change.kind === "replace" ? "replaced" : "updated", change }),
  },
];

/** What a sync without a fault does about a group; nothing if the group is at rest. */
function syncOf(record: GroupRecord | null, tenant: Tenant | undefined): GroupEvent[] {
  const { action, note, settles } = decide(tenant, record ?? undefined, NO_GRACE);
  const noted = note ? [note] : [];
  if (action && "underWay" in action) return [...noted, ...done(action)];
  const owed = record ? owes(record) : [];
  const confirmed = record && confirmedGroup(record);
  const get = (how: Partial<Upsert>): GroupEvent[] =>
    confirmed
      ? done({ ...confirmed, user_group_id: record.user_group_id, kind: "update", ...ASKED, ...how })
      : [];
  if (settles || owed.includes("failing storing")) return [...noted, ...get({ restores: true })];
  if (owed.includes("held")) return [...noted, { kind: "held", removal: null }];
  if (owed.includes("wanted") || owed.includes("failing rotation"))
    return [...noted, ROTATION_BEGUN, ROTATED];
  return owed.includes("doubted") ? [...noted, ...get({ refreshes: true })] : noted;
}

const ASKED = { underWay: false, failedBefore: false };
const ROTATION_BEGUN: GroupEvent = { kind: "begun", change: { kind: "rotate", user_group_id: "acme" } };
const ROTATED: GroupEvent = {
  kind: "rotation_ended",
  ...{ tokenFingerprint: "of a new token", isOfPost: true, failure: null, isOpen: false },
};

test.each([
  ["is there", aDesiredTenant()],
  ["is gone", undefined],
])("whatever has happened, syncs without a fault leave nothing owed if the tenant %s", (_, tenant) => {
  fc.assert(
    fc.property(aLife(), (life) => {
      let record: GroupRecord | null = null;
      for (const event of life) record = next(record, event, NOW).record;
      for (let steps = 0; steps < MOST_STEPS; steps++)
        for (const event of syncOf(record, tenant)) record = next(record, event, NOW).record;
      expect(record && owes(record)).toEqual(tenant ? [] : null);
      expect(syncOf(record, tenant)).toEqual([]);
    }),
    { seed: SEED, numRuns: 2_000 },
  );
});
