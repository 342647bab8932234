import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GraceClock } from "../../../src/core/group/ledger-group.ts";
import {
  type DeletionPolicy,
  graceLeftMs,
  isGraceOver,
  removalsAllowed,
} from "../../../src/core/plan/deletion-policy.ts";

const HOUR = 3_600_000;

const aPolicy = (gracePeriodMs: number): DeletionPolicy => ({
  when: "absent",
  gracePeriodMs,
  limit: { count: 3, percent: 10 },
});

const anyTime = (): fc.Arbitrary<GraceClock> =>
  fc.record({ ms: fc.integer({ min: 0, max: 100 * HOUR }), reads: fc.integer({ min: 0, max: 50 }) });
const aWhile = (): fc.Arbitrary<GraceClock> =>
  fc.record({ ms: fc.integer({ min: 0, max: 50 * HOUR }), reads: fc.integer({ min: 0, max: 5 }) });
const anyPolicy = (): fc.Arbitrary<DeletionPolicy> =>
  fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100 * HOUR })).map(aPolicy);

const plus = (a: GraceClock, b: GraceClock): GraceClock => ({ ms: a.ms + b.ms, reads: a.reads + b.reads });

describe("the grace period", () => {
  const since = { ms: 10 * HOUR, reads: 5 };

  it.each([
    ["runs until the last millisecond", { ms: 34 * HOUR - 1, reads: 300 }, false],
    ["is over with it", { ms: 34 * HOUR, reads: 6 }, true],
    [
      "doesn't end in the read that began it, however long ago the one before was",
      { ms: 99 * HOUR, reads: 5 },
      false,
    ],
    ["doesn't end by reads alone", { ms: 10 * HOUR, reads: 1_000 }, false],
    ["doesn't end on a clock that stands before its beginning", { ms: 9 * HOUR, reads: 4 }, false],
  ])("%s", (_, now, over) => {
    expect(isGraceOver(since, now, aPolicy(24 * HOUR))).toBe(over);
  });

  it("of 0 is over at first sight", () => {
    expect(isGraceOver(since, since, aPolicy(0))).toBe(true);
  });

  it("once over, stays over; and what remains never grows", () => {
    fc.assert(
      fc.property(anyTime(), anyTime(), aWhile(), anyPolicy(), (at, now, later, policy) => {
        const then = plus(now, later);
        if (isGraceOver(at, now, policy)) expect(isGraceOver(at, then, policy)).toBe(true);
        expect(graceLeftMs(at, then, policy)).toBeLessThanOrEqual(graceLeftMs(at, now, policy));
      }),
    );
  });

  it("is over if no time remains and a second read has seen the absence, and only then", () => {
    fc.assert(
      fc.property(anyTime(), aWhile(), anyPolicy(), (at, later, policy) => {
        const now = plus(at, later);
        const hasBeenSeenTwice = later.reads > 0 || policy.gracePeriodMs === 0;
        expect(isGraceOver(at, now, policy)).toBe(graceLeftMs(at, now, policy) === 0 && hasBeenSeenTwice);
      }),
    );
  });

  it("ends after the time that the grace clock has to advance", () => {
    fc.assert(
      fc.property(anyTime(), anyTime(), anyPolicy(), (at, now, policy) => {
        const end = { ms: now.ms + graceLeftMs(at, now, policy), reads: at.reads + 1 };
        expect(isGraceOver(at, end, policy)).toBe(true);
        const early = { ...end, ms: end.ms - 1 };
        if (end.ms > now.ms) expect(isGraceOver(at, early, policy)).toBe(policy.gracePeriodMs === 0);
      }),
    );
  });
});

describe("the limit lets go", () => {
  it.each([
    [{ count: 3, percent: 10 }, 5, 3],
    [{ count: 3, percent: 10 }, 39, 3],
    [{ count: 3, percent: 10 }, 40, 4],
    [{ count: 0, percent: 10 }, 9, 0],
    [{ count: 0, percent: 0 }, 1_000, 0],
    [{ count: 0, percent: 100 }, 7, 7],
    [{ count: 3, percent: 0.1 }, 10_000, 10],
  ])("by %o of %i groups: %i", (limit, owned, allowed) => {
    expect(removalsAllowed(limit, owned)).toBe(allowed);
  });

  it("just the share of a hundred that is written down", () => {
    for (let percent = 0; percent <= 100; percent++) {
      expect(removalsAllowed({ count: 0, percent }, 100)).toBe(percent);
    }
  });
});
