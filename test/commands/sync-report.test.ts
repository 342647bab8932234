import { expect, test } from "vitest";
import { syncText } from "../../src/commands/sync-report.ts";
import { SyncError } from "../../src/core/errors.ts";
import { type Counts, noCounts, runOutcome } from "../../src/core/outcome.ts";
import type { RunReport } from "../../src/engine/report.ts";

function textOf(counts: Partial<Counts>, overrides: Partial<RunReport> = {}): string {
  const all = { ...noCounts(), ...counts };
  const report: RunReport = {
    outcome: runOutcome(all),
    counts: all,
    requests: 0,
    durationMs: 340,
    errors: [],
    error: undefined,
    ...overrides,
  };
  return syncText(report, false);
}

test("a first sync tells what it made, and no zeros", () => {
  expect(textOf({ created: 383 }, { requests: 383 })).toBe(
    "In sync\n  383 created; 383 requests in 340 ms\n",
  );
});

test("a sync with nothing to do tells how much it looked at", () => {
  expect(textOf({ unchanged: 383 })).toBe("In sync\n  383 unchanged; 0 requests in 340 ms\n");
});

test("an empty source leaves nothing to count", () => {
  expect(textOf({})).toBe("In sync\n  0 requests in 340 ms\n");
});

test("it doesn't claim to be in sync where every group failed", () => {
  const errors = [{ user_group_id: "107", code: "REFUSED", message: "success is 0" }];
  expect(textOf({ failed: 1 }, { requests: 1, errors })).toBe(
    "Done, with 1 failing group\n  1 failed; 1 request in 340 ms\n  107: REFUSED: success is 0\n",
  );
});

test("nor where changed groups were left alone", () => {
  expect(textOf({ unchanged: 2, outdated: 1 })).toBe(
    "Done, with 1 outdated group\n" +
      "  2 unchanged, 1 outdated; 0 requests in 340 ms\n" +
      "  outdated: changed, but left alone (service.update is never)\n",
  );
});

test("no word from outside takes over the terminal", () => {
  const error = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers: \u001b[2J");
  expect(textOf({}, { outcome: "failed", error })).toContain("cannot read customers: \\u001b[2J");
});

test("a run that failed says why and what to do first", () => {
  const error = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers", { hint: "is it running?" });
  const errors = [{ user_group_id: null, code: error.code, message: error.message }];
  expect(textOf({}, { outcome: "failed", error, errors })).toBe(
    "The sync failed: cannot read customers\n  is it running?\n  0 requests in 340 ms\n",
  );
});
