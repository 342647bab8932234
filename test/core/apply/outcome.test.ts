import { expect, it } from "vitest";
import { type Counts, noCounts, type RunOutcome, runOutcome } from "../../../src/core/report/counts.ts";

const ofOne: Record<Exclude<keyof Counts, "drift">, RunOutcome> = {
  created: "ok",
  adopted: "ok",
  updated: "ok",
  replaced: "ok",
  unverified: "ok",
  unchanged: "ok",
  outdated: "ok",
  missing: "ok",
  not_ready: "ok",
  deleted: "ok",
  rotated: "ok",
  wanted: "partial",
  refreshed: "ok",
  restored: "ok",
  held: "held",
  rejected: "partial",
  failed: "partial",
};

it.each(Object.entries(ofOne))("one %s makes a run %s", (count, outcome) => {
  expect(runOutcome({ ...noCounts(), [count]: 1 })).toBe(outcome);
});

it("drift that was healed leaves a run ok", () => {
  expect(runOutcome({ ...noCounts(), drift: { token: 1, gone: 1, name: 1 } })).toBe("ok");
});

it("starts with a zero for every count", () => {
  const zeros = Object.fromEntries(Object.keys(ofOne).map((count) => [count, 0]));
  expect(noCounts()).toEqual({ ...zeros, drift: { token: 0, gone: 0, name: 0 } });
  expect(runOutcome(noCounts())).toBe("ok");
});

it("held outranks partial", () => {
  expect(runOutcome({ ...noCounts(), held: 1, failed: 1, rejected: 1 })).toBe("held");
});
