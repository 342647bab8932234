import fc from "fast-check";
import { expect, test } from "vitest";
import { tokenBucket } from "../../../src/core/limits/token-bucket.ts";

test("a token bucket lets through exactly what burst and rate allow, and says exactly when the next request may pass", () => {
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
