import { expect, it } from "vitest";
import { SERVICE_FAILURES } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { RunOutcome } from "../../../src/core/report/counts.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import {
  EXIT,
  exitCodeOfError,
  exitCodeOfRun,
  exitCodeOfTone,
  isMostlyDone,
} from "../../../src/core/report/exit-code.ts";

it("has the numbers that other programs rely on", () => {
  expect(EXIT).toEqual({
    done: 0,
    failed: 1,
    changesPending: 2,
    partial: 3,
    held: 4,
    leaseHeld: 5,
    usage: 64,
    config: 78,
  });
});

const outcomes: Record<RunOutcome, number> = { ok: 0, failed: 1, partial: 3, held: 4 };

it.each(Object.entries(outcomes) as [RunOutcome, number][])(
  "a run that ended %s exits with %i",
  (outcome, code) => {
    expect(exitCodeOfRun(outcome, undefined)).toBe(code);
  },
);

it.each<[string, number]>([
  ["LEASE_HELD", 5],
  ["UNKNOWN_ID", 64],
  ["CONFIG_COLUMNS", 78],
  ["SOURCE_UNAVAILABLE", 1],
  ["LEDGER_UNAVAILABLE", 1],
  ["SERVICE_UNAVAILABLE", 1],
  ["LEASE_LOST", 1],
  ["TEAM_CHANGED", 1],
  ["INTERRUPTED", 1],
  ...Object.keys(SERVICE_FAILURES).map((code): [string, number] => [code, 1]),
])("%s ends a run with %i, whatever was done before", (code, exit) => {
  const error = new SyncError(code, "…");
  expect(exitCodeOfError(error)).toBe(exit);
  expect(exitCodeOfRun("failed", error)).toBe(exit);
});

it.each([
  ["some rows are rejected", { rejected: 1, unchanged: 5 }, true],
  ["a group fails", { failed: 1, created: 1 }, true],
  ["every group fails", { failed: 9 }, false],
  ["a wanted token is left", { wanted: 1, unchanged: 5 }, false],
])("sync --allow-partial ends with 0 if %s: %j, %s", (_, counts, isAllowed) => {
  const report = { outcome: "partial", counts: { ...noCounts(), ...counts } } as const;
  expect(isMostlyDone(report)).toBe(isAllowed);
  expect(isMostlyDone({ ...report, outcome: "held" })).toBe(false);
  expect(isMostlyDone({ ...report, clocks: { code: "CLOCK_DIFFERS", message: "" } })).toBe(false);
});

it("status --exit-code tells whether all is well, something needs attention, or nothing works", () => {
  const tones = ["good", "idle", "busy", "attention", "bad"] as const;
  expect(tones.map(exitCodeOfTone)).toEqual([0, 0, 0, 3, 1]);
});
