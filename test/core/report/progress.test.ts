import { describe, expect, it } from "vitest";
import { advanced, NO_WORK, progress } from "../../../src/core/report/progress.ts";
import { durationText, rateText } from "../../../src/core/text/quantity.ts";

describe("progress", () => {
  it("tells the rate so far and the time left at that rate", () => {
    expect(progress({ done: 50, total: 200 }, 10_000)).toEqual({ rate: 5, leftMs: 30_000 });
    expect(progress({ done: 200, total: 200 }, 10_000)).toMatchObject({ leftMs: 0 });
  });

  it.each([
    [0, 200, 10_000],
    [0, 0, 0],
    [0, 200, 0],
  ])("has no time left to tell after %i of %i in %i ms", (done, total, elapsedMs) => {
    expect(progress({ done, total }, elapsedMs)).toEqual({ rate: 0, leftMs: undefined });
  });
});

describe("the work of a run", () => {
  const workAfter = (...events: Parameters<typeof advanced>[1][]) => events.reduce(advanced, NO_WORK);

  it("adds up what is planned, restored and rotated", () => {
    const found = [
      { kind: "planned", changes: 2 },
      { kind: "restoring", tokens: 3 },
      { kind: "rotating", tokens: 4 },
    ];
    expect(workAfter({ kind: "started" }, ...found)).toEqual({ done: 0, total: 9 });
    expect(workAfter(...found, { kind: "restored" }, { kind: "failed" })).toEqual({ done: 2, total: 9 });
  });

  it("is never more done than there is, whatever nobody has announced", () => {
    expect(workAfter({ kind: "recorded" })).toEqual({ done: 1, total: 1 });
    expect(workAfter({ kind: "planned", changes: 1 }, { kind: "rotated" }, { kind: "deleted" })).toEqual({
      done: 2,
      total: 2,
    });
  });

  it("begins anew with each run", () => {
    expect(workAfter({ kind: "planned", changes: 5 }, { kind: "recorded" }, { kind: "started" })).toEqual(
      NO_WORK,
    );
  });
});

it.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [999.6, "1.0 s"],
  [1_000, "1.0 s"],
  [9_940, "9.9 s"],
  [9_960, "10 s"],
  [12_300, "12 s"],
  [59_400, "59 s"],
  [59_600, "1 min 0 s"],
  [250_000, "4 min 10 s"],
  [3_599_600, "1 h 0 min"],
  [7_500_000, "2 h 5 min"],
])("%d ms are %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [1_234.4, "1234/s"],
  [10, "10/s"],
  [9.96, "598/min"],
  [2.83, "170/min"],
  [0, "0/min"],
])("%d a second are %s", (rate, text) => {
  expect(rateText(rate)).toBe(text);
});
