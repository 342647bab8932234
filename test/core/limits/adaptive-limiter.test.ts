import { expect, it } from "vitest";
import { AdaptiveLimiter, type Call, type Refusal } from "../../../src/core/limits/adaptive-limiter.ts";

const noJitter = (): number => 1;
const asking = (retryAfterMs: number): Refusal => ({ retryAfterMs, isOwn: false, isLast: false });

/** One call after the other, each as soon as it may begin, or after so long a rest. The time at the end. */
function pass(limits: AdaptiveLimiter, calls: number, now: number, restMs = 0): number {
  let time = now;
  for (let n = 0; n < calls; n++) {
    const startsAt = Math.max(limits.dueAt(), time + restMs);
    time = startsAt + 10;
    limits.passed(limits.start(startsAt), time);
  }
  return time;
}

/** A service that allows 180 calls a minute, as it is known after the first window. */
function learned(): { limits: AdaptiveLimiter; now: number } {
  const limits = new AdaptiveLimiter({ concurrency: 1 });
  const now = pass(limits, 180, 0);
  limits.refused(limits.start(now), now, asking(60_000 - now), noJitter);
  return { limits, now: pass(limits, 1, now) };
}

it("a higher rate is taken to pass once calls have kept to it", () => {
  const { limits, now } = learned();
  expect(limits.perSecond).toBeCloseTo(3);
  pass(limits, 1_000, now);
  expect(limits.perSecond).toBeGreaterThan(4);
});

it("calls that come more slowly than the rate allows don't show that more would pass", () => {
  const { limits, now } = learned();
  pass(limits, 1_000, now, 1_000);
  expect(limits.perSecond).toBeCloseTo(3);
});

it("a probe that is refused beside long calls makes the pause longer, and not those calls too many", () => {
  const limits = new AdaptiveLimiter({ concurrency: 8 });
  for (let round = 0; round < 20; round++) {
    const calls: Call[] = [];
    while (limits.dueAt() < Infinity) calls.push(limits.start(0));
    for (const call of calls) limits.passed(call, 0);
  }
  limits.start(0);
  limits.start(0);
  limits.refused(limits.start(0), 0, asking(5_000), noJitter);
  limits.refused(limits.start(5_000), 5_000, asking(0), noJitter);
  expect(limits.dueAt()).toBeGreaterThan(5_000);
  expect(limits.dueAt()).toBeLessThan(Infinity);
});

/** One call is refused for ten minutes, and the last refusal is this one. */
function afterTenMinutes(last: Refusal): { limits: AdaptiveLimiter; now: number } {
  const { limits, now } = learned();
  let time = limits.dueAt();
  for (let since = now; time - since < 600_000; time = limits.dueAt())
    limits.refused(limits.start(time), time, asking(0), noJitter);
  limits.refused(limits.start(time), time, last, noJitter);
  return { limits, now: time };
}

it("a call that is given up after ten minutes doesn't lower the rate if the next one passes", () => {
  const { limits, now } = afterTenMinutes({ ...asking(0), isLast: true });
  pass(limits, 1, now);
  expect(limits.perSecond).toBeCloseTo(3);
});

it("a call that is refused for ten minutes lowers the rate if it passes in the end, or if the next one is refused too", () => {
  const first = afterTenMinutes(asking(0));
  pass(first.limits, 1, first.now);
  expect(first.limits.perSecond).toBeLessThan(1);
  const { limits } = afterTenMinutes({ ...asking(0), isLast: true });
  limits.refused(limits.start(limits.dueAt()), limits.dueAt(), asking(0), noJitter);
  pass(limits, 1, limits.dueAt());
  expect(limits.perSecond).toBeLessThan(1);
});
