import { describe, expect, test } from "vitest";
import { AdaptiveRate, type Span } from "../../../src/core/limits/adaptive-rate.ts";

const MINUTE = 60_000;
/** 180 calls in a minute, of which the last half was a pause. */
const WINDOW: Span = { passes: 180, ms: MINUTE, pauseMs: MINUTE / 2 };

function learned(span = WINDOW, ceiling = Number.POSITIVE_INFINITY): AdaptiveRate {
  const rate = new AdaptiveRate(ceiling);
  rate.learn(span, 0);
  return rate;
}

/** Calls that pass at the rate in force, from `now` on. The time after the last. */
function pass(rate: AdaptiveRate, calls: number, now: number): number {
  let time = now;
  for (let n = 0; n < calls; n++) {
    time += rate.spacing;
    if (rate.search) rate.passed(rate.search, time);
  }
  return time;
}

describe("before the first refusal", () => {
  test("calls are spaced by the ceiling alone", () => {
    expect(new AdaptiveRate(0.01).spacing).toBe(100);
    expect(new AdaptiveRate(Number.POSITIVE_INFINITY).spacing).toBe(0);
  });
});

describe("the first rate", () => {
  test("is what passed, by the time that it took", () => {
    expect(learned().search?.passed).toBeCloseTo(180 / MINUTE);
  });

  test("is never above the ceiling", () => {
    expect(learned(WINDOW, 1 / MINUTE).spacing).toBe(MINUTE);
  });

  test("is not measured from a few calls, unless they are refused twice", () => {
    const few = { passes: 3, ms: 1_000, pauseMs: 500 };
    const rate = learned(few);
    expect(rate.search).toBeUndefined();
    rate.learn(few, 1_000);
    expect(rate.search?.passed).toBeCloseTo(0.003);
  });
});

test("a rate that passes for long enough is raised", () => {
  const rate = learned();
  const before = rate.spacing;
  pass(rate, 1_000, 0);
  expect(rate.spacing).toBeLessThan(before);
});

test("calls under an older rate don't count for the one in force", () => {
  const rate = learned();
  const { search } = rate;
  const now = pass(rate, 1_000, 0);
  const inForce = rate.search;
  for (let n = 0; n < 1_000 && search; n++) rate.passed(search, now + n * MINUTE);
  expect(rate.search).toBe(inForce);
});

test("a refusal lowers the rate that is in force", () => {
  const rate = learned();
  const now = pass(rate, 200, 0);
  const before = rate.spacing;
  rate.learn({ passes: 10, ms: MINUTE, pauseMs: 1_000 }, now);
  expect(rate.spacing).toBeGreaterThan(before);
});

test("a rate that was lowered three times in vain is as high as before", () => {
  const rate = learned();
  let now = 0;
  const rates: number[] = [];
  for (let n = 0; n < 6; n++) {
    now += MINUTE;
    rate.learn({ passes: 10, ms: 10_000, pauseMs: 1_000 }, now);
    rates.push(rate.search?.value ?? 0);
  }
  expect(Math.max(...rates.slice(3))).toBeGreaterThan(rates[2] ?? 0);
});
