import { describe, expect, it } from "vitest";
import { AdaptiveLimiter } from "../../../src/core/limits/adaptive-limiter.ts";
import {
  aBucket,
  atOnce,
  aWindow,
  type Backfill,
  type Backfilled,
  backfill,
  noLimit,
  type ServiceLimit,
  shareOf,
} from "../../fakes/limited-service.ts";

const MINUTE = 60_000;
const SEEDS = Array.from({ length: 20 }, (_, n) => n + 1);
const perMinute = (count: number) => ({ count, perMs: MINUTE });
const perSecond = (count: number) => ({ count, perMs: 1_000 });

interface Case extends Partial<Omit<Backfill, "limit" | "ceilings" | "seed">> {
  readonly name: string;
  readonly limit: () => ServiceLimit;
  readonly concurrency?: number;
  /** The least share of what the limit allows, and the most that may be refused, learning included. */
  readonly through: number;
  readonly refused: number;
}

const WINDOW = () => aWindow({ count: 180, perMs: 15_000 });
const BUCKET = () => aBucket({ rate: perSecond(20), burst: 20 });
const SHORT = { ms: 3 * MINUTE };
const LONG = { ms: 10 * MINUTE };

const CASES: readonly Case[] = [
  { name: "180 in 15 s", ...SHORT, limit: WINDOW, through: 0.95, refused: 0.02 },
  {
    name: "180 in 15 s, counted when a request ends",
    ...{ ...SHORT, limit: WINDOW, isCheckedLate: true, through: 0.95, refused: 0.02 },
  },
  {
    name: "180 in 15 s, without Retry-After",
    ...{ ...SHORT, limit: WINDOW, retryAfter: "none", through: 0.88, refused: 0.03 },
  },
  { name: "180 a minute", ...LONG, limit: () => aWindow(perMinute(180)), through: 0.95, refused: 0.02 },
  {
    name: "600 a minute, by a slow service",
    ...{ ...LONG, limit: () => aWindow(perMinute(600)), latency: [200, 800], concurrency: 32 },
    ...{ through: 0.95, refused: 0.02 },
  },
  {
    name: "12 in 6 s",
    ...LONG,
    limit: () => aWindow({ count: 12, perMs: 6_000 }),
    through: 0.93,
    refused: 0.05,
  },
  { name: "20/s and a burst of 20", ms: 1.5 * MINUTE, limit: BUCKET, through: 0.95, refused: 0.02 },
  {
    name: "20/s and a burst of 20, counted when a request ends",
    ...{ ms: 1.5 * MINUTE, limit: BUCKET, isCheckedLate: true, through: 0.95, refused: 0.02 },
  },
  {
    name: "20/s and a burst of 20, without Retry-After",
    ...{ ms: 1.5 * MINUTE, limit: BUCKET, retryAfter: "none", through: 0.95, refused: 0.06 },
  },
  {
    name: "3/s and no burst",
    ...{ ...LONG, limit: () => aBucket({ rate: perSecond(3), burst: 1 }), through: 0.9, refused: 0.05 },
  },
  {
    name: "4 at once, with 8 allowed",
    ...{ ms: MINUTE, limit: () => atOnce(4), latency: [200, 210], retryAfter: "none", concurrency: 8 },
    ...{ through: 0.85, refused: 0.03 },
  },
  {
    name: "4 at once, with 4 allowed",
    ...{ ms: MINUTE, limit: () => atOnce(4), latency: [200, 210], retryAfter: "none", concurrency: 4 },
    ...{ through: 0.98, refused: 0 },
  },
  {
    name: "1 at once, with 8 allowed",
    ...{ ms: MINUTE, limit: () => atOnce(1), latency: [50, 50], retryAfter: "none", concurrency: 8 },
    ...{ through: 0.85, refused: 0.03 },
  },
];

const refusedShare = ({ passes, refusals }: Backfilled): number =>
  refusals.length / (passes.length + refusals.length);

/** Calls between these times, per minute. */
const rateBetween = (times: readonly number[], from: number, until: number): number =>
  (times.filter((at) => at >= from && at < until).length * MINUTE) / (until - from);

describe("a limit that nobody knows is learned and used:", () => {
  it.each(CASES)("$name", ({ limit, concurrency = 16, through, refused, ...given }) => {
    for (const seed of SEEDS) {
      const service = limit();
      const watched = {
        ms: MINUTE,
        latency: [20, 80] as const,
        retryAfter: "seconds" as const,
        ...given,
        limit: () => service,
        ceilings: { concurrency },
        seed,
      };
      const done = backfill(watched);
      expect(shareOf(done, service, watched)).toBeGreaterThanOrEqual(through);
      expect(refusedShare(done)).toBeLessThanOrEqual(refused);
      expect(done.maxInFlight).toBeLessThanOrEqual(concurrency);
      // After eight refusals a call is given up.
      expect(done.mostRefusals).toBeLessThan(8);
    }
  });
});

const played = (given: Partial<Backfill>): Backfilled =>
  backfill({
    ms: MINUTE,
    limit: () => noLimit,
    ceilings: { concurrency: 8 },
    latency: [20, 80],
    retryAfter: "seconds",
    ...given,
  });

describe("a service that changes its mind", () => {
  const CHANGE = 5 * MINUTE;
  const changing = (before: ServiceLimit, after: ServiceLimit) => (now: number) =>
    now < CHANGE ? before : after;

  it.each([
    ["allows half as much", 240, 120],
    ["allows three times as much", 120, 360],
  ])("and %s is followed", (_, before, after) => {
    const limit = changing(aWindow(perMinute(before)), aWindow(perMinute(after)));
    const { passes, refusals } = played({ ms: 20 * MINUTE, limit });
    const [from, until] = [15 * MINUTE, 20 * MINUTE];
    expect(rateBetween(passes, from, until)).toBeGreaterThanOrEqual(0.9 * after);
    expect(rateBetween(refusals, from, until)).toBeLessThanOrEqual(0.02 * after);
  });

  it("because others share its limit, gets the calls that they leave", () => {
    const shared = aWindow(perMinute(300));
    let taken = 0;
    // Somebody else takes two a second, evenly, from the fifth minute on.
    const limit = (now: number): ServiceLimit => {
      for (; CHANGE + taken * 500 <= now; taken++) shared.enter(CHANGE + taken * 500);
      return shared;
    };
    const { passes } = played({ ms: 15 * MINUTE, limit });
    expect(rateBetween(passes, 10 * MINUTE, 15 * MINUTE)).toBeGreaterThanOrEqual(0.85 * 180);
  });

  it("is not held back for long after an outage", () => {
    const down: ServiceLimit = { ...noLimit, enter: (now) => Math.max(0, 90_000 - now) };
    const limit = (now: number): ServiceLimit => (now >= MINUTE ? down : noLimit);
    const { passes } = played({ ms: 10 * MINUTE, limit });
    expect(rateBetween(passes, 2 * MINUTE, 3 * MINUTE)).toBeGreaterThan(3_000);
    expect(rateBetween(passes, 5 * MINUTE, 10 * MINUTE)).toBeGreaterThan(8_000);
  });
});

it("random refusals slow the calls down, and never stop them", () => {
  const { passes } = played({ ms: 10 * MINUTE, randomShare: 0.03, retryAfter: "none" });
  expect(rateBetween(passes, 5 * MINUTE, 10 * MINUTE)).toBeGreaterThan(300);
});

it("without a limit, no call waits", () => {
  const { passes } = played({ latency: [50, 50] });
  expect(passes.length).toBeGreaterThan((8 * MINUTE) / 53);
});

it("a rate in the config that is lower is kept, and the service's limit never met", () => {
  const service = aWindow(perMinute(180));
  const ceilings = { concurrency: 8, rateLimit: perMinute(170) };
  const { passes, refusals } = played({ ms: 5 * MINUTE, limit: () => service, ceilings });
  expect(refusals).toEqual([]);
  expect(passes.length).toBeGreaterThanOrEqual(5 * 170 - 1);
});

describe("a pause that the service asks for", () => {
  const noJitter = (): number => 1;
  const refuse = (limits: AdaptiveLimiter, at: number, askedMs: number): void =>
    limits.refused(limits.start(at), at, askedMs, noJitter);
  const pass = (limits: AdaptiveLimiter, at: number): void => limits.passed(limits.start(at), at);

  /** A service that allows 180 calls a minute, as it is known after the first window. */
  const learned = (): AdaptiveLimiter => {
    const limits = new AdaptiveLimiter({ concurrency: 8 });
    for (let n = 0; n < 180; n++) pass(limits, 0);
    refuse(limits, 0, MINUTE);
    pass(limits, MINUTE);
    return limits;
  };

  it("tells the rate, even before it is over", () => {
    const limits = new AdaptiveLimiter({ concurrency: 8 });
    for (let n = 0; n < 180; n++) pass(limits, 0);
    refuse(limits, 0, MINUTE);
    expect(limits.perSecond).toBeCloseTo(3);
  });

  it("is that of one tenant alone if another's call passes after 5 s", () => {
    const limits = learned();
    const at = limits.dueAt();
    refuse(limits, at, 30_000);
    expect(limits.dueAt()).toBe(at + 5_000);
    pass(limits, at + 5_000);
    expect(limits.pausedUntil).toBeUndefined();
    expect(limits.perSecond).toBeCloseTo(3);
    expect(limits.dueAt()).toBeLessThan(at + 6_000);
  });

  it("is everybody's, and lasts to its end, if another's call is refused after 5 s", () => {
    const limits = learned();
    const at = limits.dueAt();
    refuse(limits, at, 30_000);
    const trial = limits.start(at + 5_000);
    expect(limits.dueAt()).toBe(Infinity);
    limits.refused(trial, at + 5_000, 25_000, noJitter);
    expect(limits.dueAt()).toBe(at + 30_000);
  });

  it("of which nobody knows the length ends soon after the service takes calls again", () => {
    const limits = new AdaptiveLimiter({ concurrency: 8 });
    pass(limits, 0);
    let at = limits.dueAt();
    for (; at < 10 * MINUTE; at = limits.dueAt()) refuse(limits, at, 0);
    expect(at).toBeLessThan(11 * MINUTE);
    pass(limits, at);
    expect(limits.dueAt()).toBeLessThanOrEqual(at + 1_000);
  });

  it("is the longest of those asked of calls that were in flight together, and counts once", () => {
    const limits = learned();
    const at = limits.dueAt();
    const [first, second] = [limits.start(at), limits.start(at)];
    limits.refused(first, at, 2_000, noJitter);
    limits.refused(second, at, 4_000, noJitter);
    expect(limits.dueAt()).toBe(at + 4_000);
  });
});
