import { expect, test } from "vitest";
import {
  type Counts,
  countsText,
  noCounts,
  outOfSyncText,
  type RunOutcome,
  runOutcome,
  type Summary,
  summaryText,
} from "../../../src/core/report/counts.ts";

test.each<[Partial<Counts>, RunOutcome]>([
  [{}, "ok"],
  [{ created: 1, updated: 1, unverified: 1, missing: 1, outdated: 1, wanted: 0 }, "ok"],
  [{ failed: 1 }, "partial"],
  [{ rejected: 1 }, "partial"],
  [{ held: 1 }, "held"],
  [{ held: 1, failed: 1, rejected: 1 }, "held"],
])("%j is %s", (counts, outcome) => {
  expect(runOutcome({ ...noCounts(), ...counts })).toBe(outcome);
});

const aSummary = (overrides: Partial<Summary> = {}): Summary => ({
  command: "sync",
  outcome: "ok",
  counts: noCounts(),
  requests: 0,
  durationMs: 405,
  error: null,
  ...overrides,
});

test.each<[Partial<Summary>, string]>([
  [{}, "sync ok: 0 requests in 405 ms"],
  [
    { counts: { ...noCounts(), created: 2, unchanged: 390 }, requests: 2 },
    "sync ok: 2 created, 390 unchanged; 2 requests in 405 ms",
  ],
  [
    { command: "rotate", counts: { ...noCounts(), rotated: 1 }, requests: 1, durationMs: 61_000 },
    "rotate ok: 1 rotated; 1 request in 1 min 1 s",
  ],
  [
    { outcome: "failed", error: { code: "X", message: "the database is away" } },
    "sync failed: the database is away (0 requests in 405 ms)",
  ],
  [
    {
      outcome: "held",
      counts: { ...noCounts(), held: 5, failed: 1 },
      error: { code: "X", message: "5 deletions are held" },
    },
    "sync held: 5 deletions are held (5 held, 1 failed; 0 requests in 405 ms)",
  ],
])("%j", (summary, text) => {
  expect(summaryText(aSummary(summary))).toBe(text);
});

test("counts that are zero go without saying", () => {
  expect(countsText(noCounts())).toBe("");
});

test.each([
  [0, 0, 0, ""],
  [1, 0, 0, "1 rejected row"],
  [0, 1, 0, "1 failing group"],
  [2, 3, 0, "2 rejected rows and 3 failing groups"],
  [2, 3, 1, "2 rejected rows, 3 failing groups, and 1 outdated group"],
])("%i rejected, %i failed, %i outdated: %s", (rejected, failed, outdated, text) => {
  expect(outOfSyncText({ rejected, failed, outdated, wanted: 0 })).toBe(text);
});
