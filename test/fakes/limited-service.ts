import { AdaptiveLimiter, type Ceilings } from "../../src/core/limits/adaptive-limiter.ts";
import { type RateLimit, type TokenBucket, tokenBucket } from "../../src/core/limits/rate-limit.ts";
import { seededRandom } from "../../src/sandbox/request-faults.ts";
import type { RetryAfter } from "../../src/sandbox/service-options.ts";
import { fixedWindow } from "../../src/sandbox/user-group-api.ts";

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

export const aBucket = (bucket: TokenBucket): ServiceLimit => ({
  enter: tokenBucket(bucket),
  leave: () => {},
  allowed: (ms) => bucket.burst + (ms * bucket.rate.count) / bucket.rate.perMs,
});

export function atOnce(count: number): ServiceLimit {
  let taken = 0;
  return {
    enter: () => {
      if (taken === count) return 1;
      taken++;
      return 0;
    },
    leave: () => {
      taken--;
    },
    allowed: (ms, latencyMs) => (count * ms) / latencyMs,
  };
}

export const noLimit: ServiceLimit = { enter: () => 0, leave: () => {}, allowed: () => Number.NaN };

export interface Backfill {
  /** How long it is watched, in milliseconds. */
  readonly ms: number;
  readonly limit: (now: number) => ServiceLimit;
  readonly ceilings: Ceilings;
  /** Milliseconds, evenly spread. */
  readonly latency: readonly [number, number];
  readonly retryAfter: Exclude<RetryAfter, "date">;
  /** Whether the limit is checked when a request ends, and not when it arrives. */
  readonly isCheckedLate?: boolean;
  /** The share of calls that are refused at random. */
  readonly randomShare?: number;
  readonly seed?: number;
}

export interface Backfilled {
  /** The times at which calls began, passed and were refused. */
  readonly starts: readonly number[];
  readonly passes: readonly number[];
  readonly refusals: readonly number[];
  readonly maxInFlight: number;
  /** The most times that one call was refused. */
  readonly mostRefusals: number;
}

/** One way between program and service, in milliseconds. */
const WAY = 1;

/**
 * Calls a limited service through a limiter, as often as the limiter allows. A call that is refused comes again after its
 * own pause. Plays hours of calls in a moment.
 */
export function backfill({
  ms,
  limit,
  ceilings,
  latency: [shortest, longest],
  retryAfter,
  isCheckedLate = false,
  randomShare = 0,
  seed = 1,
}: Backfill): Backfilled {
  const random = seededRandom(seed);
  const limiter = new AdaptiveLimiter(ceilings);
  const events: { readonly at: number; readonly happen: () => void }[] = [];
  const starts: number[] = [];
  const passes: number[] = [];
  const refusals: number[] = [];
  /** How often each call that comes again was refused before. */
  const again: number[] = [];
  let now = 0;
  let alarm = Number.POSITIVE_INFINITY;
  let maxInFlight = 0;
  let mostRefusals = 0;

  const after = (delay: number, happen: () => void): void => {
    const at = now + delay;
    const later = events.findLastIndex((event) => event.at <= at) + 1;
    events.splice(later, 0, { at, happen });
  };
  const startAllDue = (): void => {
    for (let due = limiter.dueAt(); due <= now; due = limiter.dueAt()) begin(due, again.shift() ?? 0);
    const due = limiter.dueAt();
    if (due >= alarm) return;
    alarm = due;
    if (due < Number.POSITIVE_INFINITY)
      after(due - now, () => {
        if (alarm === due) alarm = Number.POSITIVE_INFINITY;
        startAllDue();
      });
  };
  const begin = (due: number, refusedBefore: number): void => {
    const call = limiter.start(due);
    starts.push(due);
    maxInFlight = Math.max(maxInFlight, limiter.inFlight);
    const service = limit(now);
    const end = (waitMs: number): void => {
      if (waitMs === 0) {
        passes.push(now);
        limiter.passed(call, now);
      } else {
        refusals.push(now);
        mostRefusals = Math.max(mostRefusals, refusedBefore + 1);
        const askedMs = retryAfter === "seconds" ? Math.ceil(waitMs / 1000) * 1000 : 0;
        limiter.refused(call, now, askedMs, random);
        after(askedMs || 250 + random() * 250, () => {
          again.push(refusedBefore + 1);
          startAllDue();
        });
      }
      startAllDue();
    };
    /** Resolves to how long the call has to wait; 0 if it was let in. */
    const enter = (): number => (random() < randomShare ? 1 : service.enter(now));
    const work = shortest + random() * (longest - shortest);
    after(isCheckedLate ? WAY + work : WAY, () => {
      const waitMs = enter();
      after(waitMs > 0 || isCheckedLate ? WAY : work + WAY, () => {
        if (waitMs === 0) service.leave();
        end(waitMs);
      });
    });
  };

  startAllDue();
  for (let next = events.shift(); next !== undefined && next.at <= ms; next = events.shift()) {
    now = next.at;
    next.happen();
  }
  return { starts, passes, refusals, maxInFlight, mostRefusals };
}

/** The passed requests, as a share of those that the limit allows in the same time (in whole windows). */
export function shareOf(
  { passes }: Backfilled,
  limit: ServiceLimit,
  { ms, latency: [shortest, longest] }: Backfill,
): number {
  const until = limit.lastEnd?.(ms) ?? ms;
  return passes.filter((at) => at <= until).length / limit.allowed(until, (shortest + longest) / 2 + 2 * WAY);
}
