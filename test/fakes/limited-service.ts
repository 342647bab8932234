import { parseRetryAfter } from "../../src/adapters/service/answer-failure.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import type { Ceilings } from "../../src/core/limits/adaptive-limiter.ts";
import type { RateLimit } from "../../src/core/limits/rate-limit.ts";
import { type TokenBucket, tokenBucket } from "../../src/core/limits/token-bucket.ts";
import { Throttle } from "../../src/engine/service/throttle.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import {
  ConcurrencyLimit,
  fixedWindow,
  type RetryAfter,
  retryAfterValue,
} from "../../src/sandbox/rate-limit.ts";
import { VirtualClock, VirtualTime } from "./virtual-time.ts";

/** The limit of a service. */
export interface ServiceLimit {
  /** Milliseconds until the request may pass; 0 if it passes now. */
  enter(now: number): number;
  leave(): void;
  /** The most requests that can pass in the first `ms` if calls take `latencyMs` on average. */
  allowed(ms: number, latencyMs: number): number;
  /** The end of the last window within the first `ms`, if the limit has windows. */
  lastEnd?(ms: number): number;
}

export const aWindow = (limit: RateLimit): ServiceLimit => ({
  enter: fixedWindow(limit),
  leave: () => {},
  allowed: (ms) => limit.count * Math.ceil(ms / limit.perMs),
  lastEnd: (ms) => Math.floor(ms / limit.perMs) * limit.perMs,
});

/** Windows that start with the minute of the service's clock, at whatever second the first request comes. */
export function aClockWindow({ count, perMs }: RateLimit, into: number): ServiceLimit {
  let window = -1;
  let used = 0;
  return {
    enter: (now) => {
      const at = now + into;
      if (Math.floor(at / perMs) > window) {
        window = Math.floor(at / perMs);
        used = 0;
      }
      return used++ < count ? 0 : perMs - (at % perMs);
    },
    leave: () => {},
    allowed: (ms) => count * Math.ceil((ms + into) / perMs),
    lastEnd: (ms) => Math.floor((ms + into) / perMs) * perMs - into,
  };
}

export const aBucket = (bucket: TokenBucket): ServiceLimit => ({
  enter: tokenBucket(bucket),
  leave: () => {},
  allowed: (ms) => bucket.burst + (ms * bucket.rate.count) / bucket.rate.perMs,
});

export function atOnce(count: number): ServiceLimit {
  const places = new ConcurrencyLimit(count);
  return {
    enter: () => (places.tryEnter() ? 0 : 1),
    leave: () => places.leave(),
    allowed: (ms, latencyMs) => (count * ms) / latencyMs,
  };
}

export const noLimit: ServiceLimit = { enter: () => 0, leave: () => {}, allowed: () => Number.NaN };

export interface Backfill {
  readonly calls: number;
  readonly workers: number;
  /** A function of the elapsed time gives a service that changes its limit. */
  readonly limit: ServiceLimit | ((now: number) => ServiceLimit);
  /** Milliseconds, evenly spread. */
  readonly latency?: readonly [number, number];
  /** Whether the limit is checked when a request ends, and not when it arrives. */
  readonly isCheckedLate?: boolean;
  readonly retryAfter?: RetryAfter;
  readonly ceilings?: Ceilings;
  readonly seed?: number;
  /** The failure of a call that passed; by default the call is answered. */
  readonly outcome?: (random: number) => ServiceFailure | undefined;
}

export interface Backfilled {
  readonly elapsed: number;
  readonly refused: number;
  /** The times at which calls began, and at which they passed. */
  readonly starts: readonly number[];
  readonly passes: readonly number[];
  readonly refusals: readonly number[];
  readonly maxInFlight: number;
  readonly waits: readonly Extract<RunEvent, { kind: "waiting" }>[];
  /** The passed requests as a share of those that the limit allows in the same time (in whole windows). */
  share(limit: ServiceLimit): number;
}

/** One way between program and service, in milliseconds. */
const WAY = 1;

/** Workers make calls to a limited service through a throttle until `calls` of them have passed. */
export async function backfill({
  calls,
  workers,
  limit,
  latency: [shortest, longest] = [20, 80],
  isCheckedLate = false,
  retryAfter = "seconds",
  ceilings = { concurrency: workers },
  seed = 1,
  outcome = () => undefined,
}: Backfill): Promise<Backfilled> {
  const time = new VirtualTime();
  const clock = new VirtualClock(time, seed);
  const waits: Extract<RunEvent, { kind: "waiting" }>[] = [];
  const throttle = new Throttle(
    clock,
    (event) => {
      if (event.kind === "waiting") waits.push(event);
    },
    ceilings,
  );
  const signal = new AbortController().signal;
  const starts: number[] = [];
  const passes: number[] = [];
  const refusals: number[] = [];
  let inFlight = 0;
  let maxInFlight = 0;
  let left = calls;

  const request = async (): Promise<ServiceFailure | undefined> => {
    await time.sleep(WAY);
    const work = (): Promise<void> => time.sleep(shortest + clock.random() * (longest - shortest));
    if (isCheckedLate) await work();
    const service = typeof limit === "function" ? limit(time.elapsed) : limit;
    const wait = service.enter(time.elapsed);
    if (wait > 0) {
      const now = time.now();
      await time.sleep(WAY);
      const retryAfterMs = parseRetryAfter(retryAfterValue(retryAfter, wait, now.getTime()), now);
      return new ServiceFailure("THROTTLED", "HTTP 429", retryAfterMs === undefined ? {} : { retryAfterMs });
    }
    if (!isCheckedLate) await work();
    service.leave();
    await time.sleep(WAY);
    return outcome(clock.random());
  };
  const work = async (): Promise<void> => {
    while (left > 0) {
      left--;
      for (;;) {
        const call = await throttle.ready(signal);
        starts.push(time.elapsed);
        maxInFlight = Math.max(maxInFlight, ++inFlight);
        const failure = await request();
        inFlight--;
        throttle.ended(call, failure);
        if (failure?.code !== "THROTTLED") break;
        refusals.push(time.elapsed);
      }
      passes.push(time.elapsed);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  const elapsed = time.elapsed;
  return {
    elapsed,
    refused: refusals.length,
    starts,
    passes,
    refusals,
    maxInFlight,
    waits,
    share: (service) => {
      const until = service.lastEnd?.(elapsed) ?? elapsed;
      const passed = passes.filter((at) => at <= until).length;
      return passed / service.allowed(until, (shortest + longest) / 2 + 2 * WAY);
    },
  };
}
