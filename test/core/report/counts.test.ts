import { expect, test } from "vitest";
import { type Counts, noCounts, type RunOutcome, runOutcome } from "../../../src/core/report/counts.ts";

test.each<[Partial<Counts>, RunOutcome]>([
  [{}, "ok"],
  [{ created: 1, updated: 1, unverified: 1, missing: 1, outdated: 1 }, "ok"],
  [{ failed: 1 }, "partial"],
  [{ rejected: 1 }, "partial"],
  [{ held: 1 }, "held"],
  [{ held: 1, failed: 1, rejected: 1 }, "held"],
])("%j is %s", (counts, outcome) => {
  expect(runOutcome({ ...noCounts(), ...counts })).toBe(outcome);
});
