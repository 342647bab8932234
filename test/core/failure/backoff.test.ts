import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDue, waitAfterFailures, waitBeforeAttempt } from "../../../src/core/failure/backoff.ts";

const MINUTE = 60_000;

describe("a group that has failed", () => {
  it.each([
    [1, 0],
    [2, 0],
    [3, MINUTE],
    [4, 2 * MINUTE],
    [5, 4 * MINUTE],
    [11, 256 * MINUTE],
    [12, 360 * MINUTE],
    [5_000, 360 * MINUTE],
  ])("%i times in a row is left alone for %i ms", (failures, ms) => {
    expect(waitAfterFailures(failures)).toBe(ms);
  });

  it.each([
    ["now", 0, true],
    ["a second ago", -1_000, true],
    ["in a second", 1_000, false],
    ["after the longest wait", 360 * MINUTE, false],
    ["later than any wait, as a clock that ran ahead has it", 360 * MINUTE + 1, true],
  ])("whose next try is %s (%i ms) is due: %s", (_when, ms, expected) => {
    const now = new Date("2026-03-01T12:00:00Z");
    expect(isDue({ retryAt: new Date(now.getTime() + ms) }, now)).toBe(expected);
  });
});

it("attempts of one request are spread over the second half of a growing wait, at most 8 s", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 2_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, chance) => {
        const longest = Math.min(8_000, 125 * 2 ** attempt);
        const wait = waitBeforeAttempt(attempt, () => chance);
        expect(wait).toBeGreaterThanOrEqual(longest / 2);
        expect(wait).toBeLessThanOrEqual(longest);
      },
    ),
  );
  expect(waitBeforeAttempt(2, () => 0)).toBe(250);
});
