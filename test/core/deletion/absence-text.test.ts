import { expect, test } from "vitest";
import { missingText } from "../../../src/core/deletion/missing-tenants.ts";
import type { Missing } from "../../../src/core/plan/planned-action.ts";

const HOUR = 3_600_000;

test.each<[Missing["absence"], dueInMs: number | null, text: string]>([
  ["absent", 2 * HOUR, "its tenant is gone; deleted after another 2 h 0 min of absence"],
  ["absent", null, "its tenant is gone; kept"],
  ["absent", 0, "its tenant is gone; deleted by the next sync of all tenants"],
  ["flagged", HOUR, "its tenant's row was flagged as removed; deleted after another 1 h 0 min of absence"],
  [
    "estranged",
    HOUR,
    "its tenant was never seen in the source that the config names now; held for approval after another 1 h 0 min of absence",
  ],
])("%s, due in %j ms", (absence, dueInMs, text) => {
  expect(missingText({ kind: "missing", user_group_id: "acme", absence, dueInMs })).toBe(text);
});
