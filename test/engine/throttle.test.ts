import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RateLimit } from "../../src/core/rate-limit.ts";
import { Throttle } from "../../src/engine/throttle.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";

const FOREVER = new AbortController().signal;

function aThrottle(rateLimit?: RateLimit) {
  const time = new VirtualTime();
  const waits: number[] = [];
  const throttle = new Throttle(
    new VirtualClock(time),
    (event) => {
      if (event.kind === "waiting") waits.push(event.ms);
    },
    rateLimit,
  );
  return { time, throttle, waits };
}

describe("a rate limit", () => {
  it("is not exceeded in any window, whatever the calls and the service do", async () => {
    const limits = fc.record({
      count: fc.integer({ min: 1, max: 20 }),
      perMs: fc.constantFrom(1_000, 60_000),
    });
    const call = fc.record({ takesMs: fc.nat(2_000), refusedForMs: fc.option(fc.nat(3_000), { freq: 8 }) });
    const workers = fc.array(fc.array(call, { maxLength: 12 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(limits, workers, async (limit, schedules) => {
        const { time, throttle } = aThrottle(limit);
        const starts: number[] = [];
        let pausedUntil = 0;
        await Promise.all(
          schedules.map(async (calls) => {
            for (const { takesMs, refusedForMs } of calls) {
              await throttle.ready(FOREVER);
              expect(time.elapsed).toBeGreaterThanOrEqual(pausedUntil);
              starts.push(time.elapsed);
              await time.sleep(takesMs);
              if (refusedForMs === null || time.elapsed < pausedUntil) continue;
              throttle.slowDown(refusedForMs);
              pausedUntil = time.elapsed + refusedForMs;
            }
          }),
        );
        for (let first = 0; first + limit.count < starts.length; first++) {
          const span = (starts[first + limit.count] ?? 0) - (starts[first] ?? 0);
          expect(span).toBeGreaterThan(limit.perMs - 1e-6);
        }
      }),
    );
  });

  it("is used to the full", async () => {
    const { time, throttle } = aThrottle({ count: 170, perMs: 60_000 });
    await Promise.all(Array.from({ length: 341 }, () => throttle.ready(FOREVER)));
    expect(time.elapsed).toBeCloseTo(120_000, 3);
  });
});

describe("a service that asks for patience", () => {
  it("gets just what it asked for", async () => {
    const { time, throttle, waits } = aThrottle();
    throttle.slowDown(7_000);
    await throttle.ready(FOREVER);
    expect(time.elapsed).toBe(7_000);
    expect(waits).toEqual([7_000]);
  });

  it.each([undefined, 0])(
    "and doesn't say how much (Retry-After: %s), gets more each time, up to a minute",
    async (retryAfterMs) => {
      const { throttle, waits } = aThrottle();
      for (let n = 0; n < 10; n++) {
        throttle.slowDown(retryAfterMs);
        await throttle.ready(FOREVER);
      }
      const longest = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60].map((seconds) => seconds * 1_000);
      for (const [n, wait] of waits.entries()) {
        expect(wait).toBeGreaterThanOrEqual((longest[n] ?? 0) / 2);
        expect(wait).toBeLessThanOrEqual(longest[n] ?? 0);
      }
      expect(waits).toHaveLength(10);
    },
  );

  it("is asked with a short pause again once it has answered", async () => {
    const { throttle, waits } = aThrottle();
    for (let n = 0; n < 5; n++) {
      throttle.slowDown(undefined);
      await throttle.ready(FOREVER);
    }
    throttle.succeeded();
    throttle.slowDown(undefined);
    expect(waits.at(-1)).toBeLessThanOrEqual(1_000);
  });

  it("refuses calls that were under way together once", () => {
    const { throttle, waits } = aThrottle();
    for (let n = 0; n < 8; n++) throttle.slowDown(undefined);
    expect(waits).toHaveLength(1);
  });

  it("gets the longest of what it asked those calls for", async () => {
    const { time, throttle } = aThrottle();
    for (const retryAfterMs of [undefined, 7_000, 3_000]) throttle.slowDown(retryAfterMs);
    await throttle.ready(FOREVER);
    expect(time.elapsed).toBe(7_000);
  });
});

it("holds nobody back who is told to stop", async () => {
  const { time, throttle } = aThrottle({ count: 1, perMs: 60_000 });
  const stopping = new AbortController();
  await throttle.ready(stopping.signal);
  throttle.slowDown(1_000_000);
  const waiting = throttle.ready(stopping.signal);
  await time.sleep(5);
  stopping.abort();
  await waiting;
  expect(time.elapsed).toBe(5);
});
