import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { RetryAfter } from "../../../src/sandbox/rate-limit.ts";
import {
  aBucket,
  aClockWindow,
  atOnce,
  aWindow,
  type Backfill,
  type Backfilled,
  backfill,
  noLimit,
  type ServiceLimit,
} from "../../fakes/limited-service.ts";
import { someOf } from "../../support/long.ts";

const MINUTE = 60_000;
const SEEDS = [1, 2, 3, 4];
const perMinute = (count: number) => ({ count, perMs: MINUTE });
const perSecond = (count: number) => ({ count, perMs: 1_000 });

const LIMITS: Readonly<Record<string, () => ServiceLimit>> = {
  "180 a minute": () => aWindow(perMinute(180)),
  "180 in each minute on the clock": () => aClockWindow(perMinute(180), 43_000),
  "12 in 6 seconds": () => aWindow({ count: 12, perMs: 6_000 }),
  "3/s and a burst of 20": () => aBucket({ rate: perSecond(3), burst: 20 }),
  "20/s and a burst of 20": () => aBucket({ rate: perSecond(20), burst: 20 }),
  "3/s and no burst": () => aBucket({ rate: perSecond(3), burst: 1 }),
  "4 at once": () => atOnce(4),
  "1 at once": () => atOnce(1),
};

/** Shares of a whole backfill, what it took to learn included. */
const shares = (done: Backfilled, limit: ServiceLimit, calls: number) => ({
  through: done.share(limit),
  refused: done.refused / (calls + done.refused),
});

describe.each(Object.entries(LIMITS))("%s", (name, aLimit) => {
  const isConcurrency = name.endsWith("at once");
  // Nobody can say when there is room for one more.
  const forms: readonly RetryAfter[] = isConcurrency ? ["none"] : ["none", "seconds", "date"];
  const cases = forms.flatMap((retryAfter) => [8, 32].map((workers) => ({ retryAfter, workers })));

  it.each(someOf(cases, 3))(
    "is learned and used: Retry-After $retryAfter, $workers at once",
    async ({ retryAfter, workers }) => {
      const calls = 3_600;
      const limit = aLimit();
      const done = await backfill({ calls, workers, limit, retryAfter });
      const { through, refused } = shares(done, limit, calls);
      expect(through).toBeGreaterThanOrEqual(0.95);
      expect(refused).toBeLessThanOrEqual(0.02);
      expect(done.maxInFlight).toBeLessThanOrEqual(workers);
    },
  );
});

// Without a burst a bucket refuses whatever comes a little sooner than its rate, and so does what arrives unevenly.
it.each(Object.entries(LIMITS).filter(([name]) => !/at once|no burst/.test(name)))(
  "%s is learned where many calls are under way before the first refusal is heard",
  async (_, aLimit) => {
    const forms = ["seconds", "date", "none", "seconds", "seconds"] as const;
    for (const [seed, retryAfter] of someOf(forms, 2).entries()) {
      const limit = aLimit();
      const done = await backfill({
        calls: 3_600,
        workers: 16,
        limit,
        retryAfter,
        isCheckedLate: true,
        seed,
      });
      const { through, refused } = shares(done, limit, 3_600);
      expect(through).toBeGreaterThanOrEqual(0.95);
      expect(refused).toBeLessThanOrEqual(0.02);
    }
  },
);

it("a window that began before the run is not taken for a whole one", async () => {
  for (const seed of someOf(SEEDS)) {
    const limit = aClockWindow(perMinute(180), 43_000);
    const done = await backfill({ calls: 3_000, workers: 12, limit, retryAfter: "none", seed });
    const { through, refused } = shares(done, limit, 3_000);
    expect(through).toBeGreaterThanOrEqual(0.95);
    expect(refused).toBeLessThanOrEqual(0.015);
  }
});

it("a limit is learned with one call at a time", async () => {
  const limit = aWindow(perMinute(180));
  const { through, refused } = shares(await backfill({ calls: 3_600, workers: 1, limit }), limit, 3_600);
  expect(through).toBeGreaterThanOrEqual(0.95);
  expect(refused).toBeLessThanOrEqual(0.02);
});

it("a slow service's limit is learned with many calls in flight", async () => {
  const limit = aWindow(perMinute(600));
  const done = await backfill({ calls: 6_000, workers: 32, limit, latency: [200, 800] });
  const { through, refused } = shares(done, limit, 6_000);
  expect(through).toBeGreaterThanOrEqual(0.95);
  expect(refused).toBeLessThanOrEqual(0.02);
});

it("a limit on concurrency is not taken for a rate if the service sends Retry-After", async () => {
  const limit = atOnce(4);
  const { through, refused } = shares(
    await backfill({ calls: 3_600, workers: 8, limit, retryAfter: "seconds" }),
    limit,
    3_600,
  );
  expect(through).toBeGreaterThanOrEqual(0.9);
  expect(refused).toBeLessThanOrEqual(0.02);
});

it("a limit on concurrency and a rate limit are learned together", async () => {
  const rate = aWindow(perMinute(300));
  const places = atOnce(3);
  const both: ServiceLimit = {
    enter: (now) => {
      if (places.enter(now) > 0) return 1;
      const wait = rate.enter(now);
      if (wait > 0) places.leave();
      return wait;
    },
    leave: places.leave,
    allowed: rate.allowed,
    lastEnd: (ms) => rate.lastEnd?.(ms) ?? ms,
  };
  const done = await backfill({
    calls: 3_600,
    workers: 16,
    limit: both,
    latency: [100, 400],
    retryAfter: "none",
  });
  const { through, refused } = shares(done, both, 3_600);
  expect(through).toBeGreaterThanOrEqual(0.9);
  expect(refused).toBeLessThanOrEqual(0.02);
});

it("without a limit nothing is held back", async () => {
  const done = await backfill({ calls: 4_000, workers: 8, limit: noLimit, latency: [50, 50] });
  expect(done.elapsed).toBeLessThanOrEqual((4_000 / 8) * 52 + 3 * 52);
  expect(done.waits).toEqual([]);
});

it("a first sync that keeps below the limit never notices it", async () => {
  const done = await backfill({ calls: 180, workers: 8, limit: aWindow(perMinute(180)) });
  expect(done.elapsed).toBeLessThan(2_000);
  expect(done.refused).toBe(0);
});

describe("a service that changes its mind", () => {
  const CHANGE = 5 * MINUTE;
  const changing = (before: ServiceLimit, after: ServiceLimit): Backfill["limit"] => {
    return (now) => (now < CHANGE ? before : after);
  };
  /** Calls a minute, and the share refused, in the last minutes. */
  const atTheEnd = ({ passes, refusals, elapsed }: Backfilled, minutes: number) => {
    const since = elapsed - minutes * MINUTE;
    const passed = passes.filter((at) => at >= since).length;
    return {
      perMinute: passed / minutes,
      refused: refusals.filter((at) => at >= since).length / passed,
    };
  };

  it.each([
    ["allows half as much", 240, 120, 3_000],
    ["allows three times as much", 120, 360, 6_000],
  ])("and %s is followed", async (_, before, after, calls) => {
    const limit = changing(aWindow(perMinute(before)), aWindow(perMinute(after)));
    const end = atTheEnd(await backfill({ calls, workers: 8, limit }), 5);
    expect(end.perMinute).toBeGreaterThanOrEqual(0.9 * after);
    expect(end.refused).toBeLessThanOrEqual(0.02);
  });

  it.each([
    ["fewer", 6, 2, 9_500],
    ["more", 2, 6, 30_000],
  ])("and lets %s calls in at once is followed", async (_, before, after, calls) => {
    const limit = changing(atOnce(before), atOnce(after));
    const done = await backfill({ calls, workers: 8, limit, latency: [20, 380], retryAfter: "none" });
    // Fewer at once are noticed at once, more when they are tried.
    const [from, until] =
      after < before ? [CHANGE + MINUTE / 2, CHANGE + MINUTE] : [3 * CHANGE, 3.5 * CHANGE];
    const among = (times: readonly number[]): number => times.filter((at) => at >= from && at < until).length;
    expect(among(done.passes) / (until - from)).toBeGreaterThanOrEqual((0.9 * after) / 202);
    expect(among(done.refusals) / among(done.passes)).toBeLessThanOrEqual(0.02);
  });

  it("because others share its limit, gets the calls that they leave", async () => {
    const shared = aWindow(perMinute(300));
    let taken = 0;
    // Somebody else takes two a second, evenly, from the fifth minute on.
    const limit = (now: number): ServiceLimit => {
      for (; CHANGE + taken * 500 <= now; taken++) shared.enter(CHANGE + taken * 500);
      return shared;
    };
    const end = atTheEnd(await backfill({ calls: 3_600, workers: 8, limit }), 5);
    expect(end.perMinute).toBeGreaterThanOrEqual(0.85 * 180);
    expect(end.refused).toBeLessThanOrEqual(0.02);
  });
});

describe("what is no limit is not learned for long:", () => {
  it("an outage of half a minute", async () => {
    const down: ServiceLimit = { ...noLimit, enter: (now) => Math.max(0, 90_000 - now) };
    const limit = (now: number): ServiceLimit => (now >= 60_000 ? down : noLimit);
    const done = await backfill({ calls: 60_000, workers: 8, limit, latency: [50, 50] });
    // It would take 6.5 minutes without.
    expect(done.elapsed).toBeLessThan(12 * MINUTE);
  });

  it("a refusal at the very start", async () => {
    let isFirst = true;
    const limit: ServiceLimit = {
      ...noLimit,
      enter: () => {
        const wait = isFirst ? 30_000 : 0;
        isFirst = false;
        return wait;
      },
    };
    const done = await backfill({ calls: 1_000, workers: 8, limit, latency: [50, 50] });
    expect(done.elapsed).toBeLessThan(30_000 + 8_000);
  });

  it.each([undefined, 1_000])("refusals by chance, Retry-After: %s ms", async (retryAfterMs) => {
    const busy = new ServiceFailure(
      "THROTTLED",
      "HTTP 429",
      retryAfterMs === undefined ? {} : { retryAfterMs },
    );
    for (const seed of someOf(SEEDS)) {
      const done = await backfill({
        calls: 2_000,
        workers: 8,
        limit: noLimit,
        outcome: (random) => (random < 0.03 ? busy : undefined),
        seed,
      });
      // Each costs a pause of a second: one minute in all.
      expect(done.elapsed).toBeLessThan(8 * MINUTE);
    }
  });

  it("random refusals besides a limit", async () => {
    const busy = new ServiceFailure("OVERLOADED", "HTTP 503");
    for (const seed of someOf(SEEDS)) {
      const limit = aWindow(perMinute(180));
      const outcome = (random: number) => (random < 0.01 ? busy : undefined);
      const done = await backfill({ calls: 3_600, workers: 8, limit, outcome, seed });
      expect(done.share(limit)).toBeGreaterThan(0.75);
    }
  });

  it("calls that fail in other ways", async () => {
    const lost = new ServiceFailure("CONNECTION_LOST", "reset");
    const limit = aWindow(perMinute(180));
    const done = await backfill({
      calls: 3_600,
      workers: 8,
      limit,
      outcome: (random) => (random < 0.3 ? lost : undefined),
    });
    const { through, refused } = shares(done, limit, 3_600);
    expect(through).toBeGreaterThanOrEqual(0.95);
    expect(refused).toBeLessThanOrEqual(0.02);
  });
});

it("a configured rate that is lower is kept, and the service's limit never met", async () => {
  const ceilings = { concurrency: 8, rateLimit: perMinute(170) };
  const done = await backfill({ calls: 1_000, workers: 8, limit: aWindow(perMinute(180)), ceilings });
  expect(done.refused).toBe(0);
  expect(done.elapsed).toBeLessThan((999 * MINUTE) / 170 + 100);
});

it("waits are reported with the rate that the service allows", async () => {
  const { waits } = await backfill({ calls: 400, workers: 8, limit: aWindow(perMinute(180)) });
  expect(waits[0]).toMatchObject({
    reason: expect.stringMatching(/^the service allows about 1(79|80)\/min$/),
  });
  expect(waits[0]?.ms).toBeGreaterThan(55_000);
});
