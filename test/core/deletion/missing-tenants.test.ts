import { expect, test } from "vitest";
import {
  isAlarming,
  missingText,
  wentMissing,
  wentMissingText,
} from "../../../src/core/deletion/missing-tenants.ts";
import type { DeletionPolicy } from "../../../src/core/plan/deletion-policy.ts";
import type { Missing } from "../../../src/core/record/decide.ts";
import type { MissingGroups } from "../../../src/core/record/group-sums.ts";

const NOW = new Date("2026-03-08T12:00:00Z");
const hoursAgo = (hours: number): Date => new Date(NOW.getTime() - hours * 3_600_000);
const some = (groups: number, hours = 1, kind: MissingGroups["kind"] = "absent"): MissingGroups => ({
  kind,
  since: hoursAgo(hours),
  groups,
});
const among = (owned: number, missing: readonly MissingGroups[], when: DeletionPolicy["when"] = "absent") =>
  wentMissing(missing, owned, { when, limit: { count: 3, percent: 10 } }, NOW);

test.each([
  [3, 5, false],
  [4, 5, true],
  [10, 100, false],
  [11, 100, true],
])("%i of %i groups went missing: an alarm is %s", (count, owned, alarming) => {
  expect(isAlarming(among(owned, [some(count)]))).toBe(alarming);
});

test.each<[string, readonly MissingGroups[], DeletionPolicy["when"], number]>([
  ["all that went missing at once", [some(125, 100)], "absent", 125],
  ["none within the limit", [some(78, 100)], "absent", 0],
  ["none within the limit of each 24 hours", [some(70, 60), some(70, 36), some(70, 11)], "absent", 0],
  [
    "what exceeds the limit within 24 hours, and all that comes after it",
    [some(70, 60), some(9, 37), some(1, 1)],
    "absent",
    10,
  ],
  ["none that is kept for good", [some(125, 100)], "never", 0],
  ["only those that are flagged", [some(125, 100), some(79, 50, "flagged")], "flagged", 79],
  ["those that the new source never had, however few", [some(2, 100, "unseen")], "absent", 2],
])("the groups that will be held are %s", (_, missing, when, held) => {
  expect(among(780, missing, when).toBeHeld).toBe(held);
});

test("the alarm says how many will be held, and where none will be, how many went missing in the last 24 hours", () => {
  expect(wentMissingText(among(780, [some(125, 100)]))).toBe(
    "the tenants of 125 of 780 groups are gone, and deletion.limit lets 78 go in 24 hours: 125 deletions will be held when the grace period is over",
  );
  expect(wentMissingText(among(40, [some(3, 25), some(5, 24)], "never"))).toBe(
    "the tenants of 5 of 40 groups went missing within 24 hours; deletion.limit lets 4 go",
  );
});

const HOUR = 3_600_000;

test.each<[Missing["absence"], dueInMs: number | null, text: string]>([
  ["absent", 2 * HOUR, "its tenant is gone; deleted after another 2 h 0 min of absence"],
  ["absent", null, "its tenant is gone; kept"],
  ["absent", 0, "its tenant is gone; deleted by the next sync of all tenants"],
  ["flagged", HOUR, "its tenant's row was flagged as removed; deleted after another 1 h 0 min of absence"],
  [
    "unseen",
    HOUR,
    "its tenant was never seen in the source that the config names now; held for approval after another 1 h 0 min of absence",
  ],
])("%s, due in %j ms", (absence, dueInMs, text) => {
  expect(missingText({ kind: "missing", user_group_id: "acme", absence, dueInMs })).toBe(text);
});
