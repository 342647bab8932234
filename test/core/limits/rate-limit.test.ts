import fc from "fast-check";
import { expect, it } from "vitest";
import { parseRateLimit, parseWindow, tokenBucket } from "../../../src/core/limits/rate-limit.ts";

it.each([
  ["3/s", { count: 3, perMs: 1000 }],
  ["170/min", { count: 170, perMs: 60_000 }],
  ["9000/h", { count: 9000, perMs: 3_600_000 }],
])("%s is a rate", (text, rate) => {
  expect(parseRateLimit(text)).toEqual(rate);
  expect(parseWindow(text)).toEqual(rate);
});

it("180/10s is a window, and no rate that the config takes", () => {
  expect(parseWindow("180/10s")).toEqual({ count: 180, perMs: 10_000 });
  expect(parseRateLimit("180/10s")).toBeUndefined();
});

it.each(["", "170", "0/s", "170/m", "1.5/s", "5/0s", "5/1.5s", "170 / min", "/s"])(
  "%j is neither",
  (text) => {
    expect(parseRateLimit(text)).toBeUndefined();
    expect(parseWindow(text)).toBeUndefined();
  },
);

it("a token bucket lets through exactly what burst and rate allow, and says exactly when the next request may pass", () => {
  const buckets = fc.record({
    rate: fc.record({ count: fc.integer({ min: 1, max: 5 }), perMs: fc.constant(100) }),
    burst: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(
    fc.property(fc.array(fc.nat(80), { maxLength: 200 }), buckets, (gaps, bucket) => {
      const limiter = tokenBucket(bucket);
      const perMs = bucket.rate.count / bucket.rate.perMs;
      let now = 1_000_000;
      const passed: number[] = [];
      for (const gap of gaps) {
        now += gap;
        const wait = limiter(now);
        if (wait === 0) passed.push(now);
        else {
          expect(wait).toBeLessThanOrEqual(1 / perMs + 1e-6);
          now += wait;
          expect(limiter(now)).toBe(0);
          passed.push(now);
        }
      }
      for (const [first, at] of passed.entries())
        for (const [more, until] of passed.slice(first).entries())
          expect(more + 1).toBeLessThanOrEqual(bucket.burst + (until - at) * perMs + 1e-3);
    }),
  );
});
