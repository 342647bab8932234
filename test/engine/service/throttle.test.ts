import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import type { RateLimit } from "../../../src/core/limits/rate-limit.ts";
import { PRIORITY, Throttle } from "../../../src/engine/service/throttle.ts";
import type { Warning } from "../../../src/ports/observer.ts";
import { aBucket, atOnce, aWindow, type ServiceLimit } from "../../fakes/limited-service.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const FOREVER = new AbortController().signal;

function aThrottle(rateLimit?: RateLimit, concurrency = 100) {
  const time = new VirtualTime();
  const waits: { ms: number; reason: string }[] = [];
  const queued: { calls: number; reason: string }[] = [];
  const warnings: Warning[] = [];
  const throttle = new Throttle(
    new VirtualClock(time),
    (event) => {
      if (event.kind === "waiting") waits.push({ ms: event.ms, reason: event.reason });
      if (event.kind === "warning") warnings.push(event);
      if (event.kind === "queued") queued.push({ calls: event.calls, reason: event.reason });
    },
    { concurrency, rateLimit },
  );
  /** A call that takes so long and ends so. */
  const call = async (takesMs = 0, failure?: ServiceFailure): Promise<void> => {
    const started = await throttle.ready(FOREVER);
    await time.sleep(takesMs);
    throttle.ended(started, failure);
  };
  return { time, throttle, waits, queued, warnings, call };
}

const busy = (retryAfterMs?: number): ServiceFailure =>
  new ServiceFailure("THROTTLED", "HTTP 429", retryAfterMs === undefined ? {} : { retryAfterMs });

const failure = (code: ServiceFailureCode): ServiceFailure => new ServiceFailure(code, code);

describe("the ceilings", () => {
  const outcome = fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.option(fc.nat(3_000), { nil: undefined }).map(busy) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom<ServiceFailureCode>("TIMEOUT", "UNREACHABLE", "CONNECTION_LOST", "SERVICE_ERROR")
        .map(failure),
    },
  );
  const calls = fc.array(fc.record({ takesMs: fc.nat(2_000), outcome }), { maxLength: 12 });
  const workers = fc.array(calls, { minLength: 1, maxLength: 8 });
  const limits = fc.record({
    count: fc.integer({ min: 1, max: 20 }),
    perMs: fc.constantFrom(1_000, 60_000),
  });

  it("are not exceeded, whatever the calls and the service do, and every call gets its turn", async () => {
    await fc.assert(
      fc.asyncProperty(limits, fc.integer({ min: 1, max: 6 }), workers, async (limit, most, schedules) => {
        const { time, throttle } = aThrottle(limit, most);
        const starts: number[] = [];
        let inFlight = 0;
        await Promise.all(
          schedules.map(async (schedule) => {
            for (const { takesMs, outcome } of schedule) {
              const started = await throttle.ready(FOREVER);
              starts.push(time.elapsed);
              expect(++inFlight).toBeLessThanOrEqual(most);
              await time.sleep(takesMs);
              inFlight--;
              throttle.ended(started, outcome);
            }
          }),
        );
        expect(starts).toHaveLength(schedules.flat().length);
        for (let first = 0; first + limit.count < starts.length; first++) {
          const span = (starts[first + limit.count] ?? 0) - (starts[first] ?? 0);
          expect(span).toBeGreaterThan(limit.perMs - 1e-6);
        }
      }),
    );
  });

  it("are not exceeded by the call after one that a changed rate allows earlier", async () => {
    const { time, throttle } = aThrottle({ count: 2, perMs: 1_000 }, 3);
    const starts: number[] = [];
    const worker = async (
      ...calls: readonly { takesMs: number; outcome?: ServiceFailure }[]
    ): Promise<void> => {
      for (const { takesMs, outcome } of calls) {
        const started = await throttle.ready(FOREVER);
        starts.push(time.elapsed);
        await time.sleep(takesMs);
        throttle.ended(started, outcome);
      }
    };
    const short = { takesMs: 0 };
    await Promise.all([
      worker(short, short, short, short, short),
      worker(short, { takesMs: 1_667 }, short),
      worker(short),
      worker({ takesMs: 500, outcome: busy() }, { takesMs: 1_334, outcome: busy() }),
    ]);
    const gaps = starts.slice(1).map((at, n) => at - (starts[n] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500 - 1e-6);
  });

  it("are used fully", async () => {
    const { time, call } = aThrottle({ count: 170, perMs: 60_000 });
    await Promise.all(Array.from({ length: 341 }, () => call(50)));
    expect(time.elapsed).toBeCloseTo(120_050, 3);
  });

  it("are used fully even if timers are late", async () => {
    class LateClock extends VirtualClock {
      override sleep(ms: number, signal?: AbortSignal): Promise<void> {
        return super.sleep(ms + 2, signal);
      }
    }
    const time = new VirtualTime();
    const rateLimit = { count: 100, perMs: 1_000 };
    const throttle = new Throttle(new LateClock(time), () => {}, { concurrency: 100, rateLimit });
    for (let n = 0; n < 101; n++) throttle.ended(await throttle.ready(FOREVER));
    expect(time.elapsed).toBeLessThanOrEqual(1_002);
  });

  it("are caught up with after the process has stood still, but not by calls at the same time", async () => {
    let haltedUntil = 0;
    class HaltingClock extends VirtualClock {
      override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
        await super.sleep(ms, signal);
        if (time.elapsed >= 1_000) await super.sleep(haltedUntil - time.elapsed);
      }
    }
    const time = new VirtualTime();
    const throttle = new Throttle(new HaltingClock(time), () => {}, {
      concurrency: 100,
      rateLimit: { count: 10, perMs: 1_000 },
    });
    haltedUntil = 2_000;
    const starts: number[] = [];
    for (let n = 0; n < 20; n++) {
      throttle.ended(await throttle.ready(FOREVER));
      starts.push(time.elapsed);
    }
    const gaps = starts.slice(1).map((at, n) => at - (starts[n] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(80 - 1e-6);
    expect(starts.at(-1)).toBeLessThan(2_850);
  });

  it("give no credit for time without calls", async () => {
    const { time, call } = aThrottle({ count: 10, perMs: 1_000 });
    await call();
    await time.sleep(60_000);
    await Promise.all(Array.from({ length: 11 }, () => call()));
    expect(time.elapsed).toBeCloseTo(61_000, 3);
  });
});

describe("a service that defers calls", () => {
  it("gets exactly the pause that it asked for", async () => {
    const { time, waits, call } = aThrottle();
    await call(0, busy(4_000));
    await call();
    expect(time.elapsed).toBe(4_000);
    expect(waits).toEqual([{ ms: 4_000, reason: "the service asked to slow down" }]);
  });

  it("may ask for an hour, which is reported even if no call waits yet, and after 5 s one is tried", async () => {
    const { time, waits, call } = aThrottle();
    await call(0, busy(3_600_000));
    expect(waits).toMatchObject([{ ms: 3_600_000 }]);
    const tried = call(0, busy(3_600_000)).then(() => time.elapsed);
    await Promise.all([tried, call(), call(), call()]);
    expect(await tried).toBe(5_000);
    expect(time.elapsed).toBe(3_605_000);
    expect(waits).toMatchObject([{ ms: 3_600_000 }, { ms: 3_600_000 }]);
  });

  it.each([undefined, 0])(
    "and doesn't say how much (Retry-After: %s), gets more each time, up to a minute",
    async (retryAfterMs) => {
      const { waits, call } = aThrottle();
      for (let n = 0; n < 11; n++) await call(0, busy(retryAfterMs));
      // The first refusal makes no other call wait, and the pauses after the next two are too short to be told.
      for (const [n, { ms }] of waits.entries()) {
        const longest = Math.min(60_000, 1_000 * 2 ** n);
        expect(ms).toBeGreaterThanOrEqual(0.8 * longest);
        expect(ms).toBeLessThanOrEqual(longest);
      }
      expect(waits).toHaveLength(8);
    },
  );
});

it("admits calls in the order in which they came", async () => {
  const { time, throttle } = aThrottle({ count: 1, perMs: 1_000 });
  const order: string[] = [];
  const call = async (name: string): Promise<void> => {
    const started = await throttle.ready(FOREVER);
    order.push(name);
    throttle.ended(started);
  };
  await call("first");
  // It comes at the moment at which the other's turn comes, and is heard before it.
  const late = time.sleep(1_000).then(() => call("late"));
  await Promise.all([call("early"), late]);
  expect(order).toEqual(["first", "early", "late"]);
});

it("holds back no call whose signal aborts", async () => {
  const { time, throttle, call } = aThrottle({ count: 1, perMs: 60_000 });
  const stopping = new AbortController();
  await call(0, busy(1_000_000));
  const waiting = Promise.all([1, 2, 3].map(() => throttle.ready(stopping.signal)));
  let isOthersTurn = false;
  void throttle.ready(FOREVER).then(() => {
    isOthersTurn = true;
  });
  await time.sleep(5);
  stopping.abort();
  await waiting;
  await throttle.ready(stopping.signal);
  expect(time.elapsed).toBe(5);
  expect(isOthersTurn).toBe(false);
});

it("listens to no signal without a waiting call", async () => {
  const { throttle, call } = aThrottle({ count: 10, perMs: 1_000 });
  const { signal } = new AbortController();
  const listening: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const started = await throttle.ready(signal);
      listening.push(getEventListeners(signal, "abort").length);
      throttle.ended(started);
    }),
  );
  await call();
  expect(Math.max(...listening)).toBe(1);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("frees the place of a call that was not sent", async () => {
  const { time, throttle } = aThrottle(undefined, 1);
  throttle.withdraw(await throttle.ready(FOREVER));
  await throttle.ready(FOREVER);
  expect(time.elapsed).toBe(0);
});

it("calls for new tenants start first, then those for changed ones, then those of a full sync", async () => {
  const { time, throttle } = aThrottle(undefined, 1);
  const order: string[] = [];
  const call = async (name: keyof typeof PRIORITY): Promise<void> => {
    const started = await throttle.ready(FOREVER, PRIORITY[name]);
    order.push(name);
    await time.sleep(10);
    throttle.ended(started);
  };
  const asked = ["fullSync", "fullSync", "changedTenant", "newTenant", "changedTenant", "newTenant"] as const;
  await Promise.all(asked.map(call));
  const [first, ...others] = order;
  expect(first).toBe("fullSync");
  expect(others).toEqual(["newTenant", "newTenant", "changedTenant", "changedTenant", "fullSync"]);
});

describe("calls that wait for long", () => {
  const queuedIn = async (rateLimit: RateLimit | undefined, takesMs: number) => {
    const { time, queued, call } = aThrottle(rateLimit, 2);
    await Promise.all(Array.from({ length: 40 }, () => call(takesMs)));
    return { queued, ms: time.elapsed };
  };

  it("are told of now and then, with what they wait for", async () => {
    const slow = await queuedIn(undefined, 10_000);
    expect(slow.queued[0]).toEqual({
      calls: expect.any(Number),
      reason: "2 calls are under way, as many as may be",
    });
    expect(slow.queued.length).toBeLessThanOrEqual(slow.ms / 30_000);
    const limited = await queuedIn({ count: 20, perMs: 60_000 }, 100);
    expect(limited.queued.map(({ reason }) => reason)).toContain("service.rate_limit allows no more");
  });

  it("are not told of if they wait for a moment only", async () => {
    expect((await queuedIn(undefined, 500)).queued).toEqual([]);
  });
});

describe("a service that refuses calls because too many overlap", () => {
  /** What the throttle warns of after so many calls to a service with this limit. */
  const warnedOf = async (limit: ServiceLimit, latencyMs: number, retryAfterMs?: number) => {
    const { time, throttle, warnings } = aThrottle(undefined, 8);
    let left = 400;
    const work = async (): Promise<void> => {
      while (left-- > 0) {
        const call = await throttle.ready(FOREVER);
        const isRefused = limit.enter(time.elapsed) > 0;
        await time.sleep(isRefused ? 2 : latencyMs);
        if (!isRefused) limit.leave();
        throttle.ended(call, isRefused ? busy(retryAfterMs) : undefined);
        if (isRefused) await time.sleep(400);
      }
    };
    await Promise.all(Array.from({ length: 16 }, work));
    return warnings;
  };

  it("is named once, with the number to set", async () => {
    expect(await warnedOf(atOnce(4), 200)).toMatchObject([
      { code: "TOO_MANY_AT_ONCE", hint: expect.stringContaining("set service.concurrency to 4") },
    ]);
  });

  it("is not mistaken for refusals by chance while as many calls as may be are under way", async () => {
    const { time, throttle, warnings } = aThrottle(undefined, 8);
    let calls = 0;
    const work = async (): Promise<void> => {
      while (calls < 400) {
        const isRefused = calls++ % 40 === 39;
        const call = await throttle.ready(FOREVER);
        await time.sleep(isRefused ? 2 : 200);
        throttle.ended(call, isRefused ? busy() : undefined);
      }
    };
    await Promise.all(Array.from({ length: 16 }, work));
    expect(warnings).toEqual([]);
  });

  it.each<[string, () => ServiceLimit, number, number?]>([
    ["a token bucket", () => aBucket({ rate: { count: 20, perMs: 1_000 }, burst: 20 }), 50],
    ["a slow token bucket", () => aBucket({ rate: { count: 20, perMs: 1_000 }, burst: 20 }), 200],
    ["a bucket without a burst", () => aBucket({ rate: { count: 3, perMs: 1_000 }, burst: 1 }), 50],
    ["a window", () => aWindow({ count: 60, perMs: 10_000 }), 50],
    ["a service that says when to call again", () => atOnce(4), 200, 1_000],
  ])("is not mistaken for %s", async (_, limit, latencyMs, retryAfterMs) => {
    expect(await warnedOf(limit(), latencyMs, retryAfterMs)).toEqual([]);
  });
});
