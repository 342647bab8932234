import { describe, expect, it } from "vitest";
import { AdaptiveConcurrency } from "../../../src/core/limits/adaptive-concurrency.ts";

/** So many calls pass, each beside as many others as there may be. */
function passAtFull(learned: AdaptiveConcurrency, calls: number, now = 0): void {
  for (let n = 0; n < calls; n++) learned.passed(learned.most - 1, learned.search, true, now);
}

/** A service that takes so many at once, asked until that is known. */
function found(most: number): AdaptiveConcurrency {
  const learned = new AdaptiveConcurrency(32);
  for (let n = 0; n < 60; n++) {
    if (learned.most > most) learned.refused(most, 0, 0);
    else passAtFull(learned, 1);
  }
  return learned;
}

describe("how many calls go at once", () => {
  it("doubles for as long as they pass, up to the ceiling", () => {
    const learned = new AdaptiveConcurrency(6);
    const seen: number[] = [];
    for (let n = 0; n < 8; n++) {
      seen.push(learned.most);
      passAtFull(learned, 1);
    }
    expect([...new Set(seen)]).toEqual([1, 2, 4, 6]);
  });

  it("becomes no more by calls that left room: they prove nothing", () => {
    const learned = found(4);
    for (let n = 0; n < 1_000; n++) learned.passed(1, learned.search, false, n);
    expect(learned.most).toBe(4);
  });

  it("is left alone for twice as long after each attempt to go beyond that was refused", () => {
    const learned = found(4);
    expect(learned.most).toBe(4);
    const untilNext = (): number => {
      let calls = 0;
      for (; learned.most === 4; calls++) passAtFull(learned, 1);
      learned.refused(4, 0, 0);
      return calls;
    };
    untilNext();
    const [first, second, third] = [untilNext(), untilNext(), untilNext()];
    expect([second, third]).toEqual([2 * first, 4 * first]);
  });

  it("is tried again later if a refusal costs a pause", () => {
    const learned = found(4);
    learned.refused(3, 1_000, 0);
    passAtFull(learned, 1_000, 30_000);
    expect(learned.most).toBe(3);
    passAtFull(learned, 1, 100_000);
    expect(learned.most).toBe(4);
  });
});

describe("a refusal", () => {
  it("is not attributed to the calls in flight if as many, or more, have passed often", () => {
    const learned = found(32);
    learned.forgetPasses();
    for (let n = 0; n < 8; n++) learned.passed(5, learned.search, false, 0);
    expect([0, 4, 5, 6].map((load) => learned.isProven(load))).toEqual([true, true, true, false]);
  });

  it("is attributed to them if as many were refused, even if more had passed before", () => {
    const learned = found(32);
    learned.forgetPasses();
    for (let n = 0; n < 8; n++) learned.passed(5, learned.search, false, 0);
    learned.refused(5, 0, 0);
    expect(learned.isProven(5)).toBe(false);
  });

  it("may be for them once one was put down to the rate", () => {
    const learned = found(32);
    for (let n = 0; n < 100; n++) learned.passed(5, learned.search, false, 0);
    learned.forgetPasses();
    expect(learned.isProven(3)).toBe(false);
    expect(learned.isProven(0)).toBe(true);
  });
});
