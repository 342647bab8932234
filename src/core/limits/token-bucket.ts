import type { RateLimit } from "./rate-limit.ts";

/**
 * Takes the time of a request, in milliseconds since any fixed moment. Returns 0 if the request may pass, and counts
 * it. Otherwise returns the milliseconds until a request may pass.
 */
export type Limiter = (now: number) => number;

export interface TokenBucket {
  /** How fast the bucket fills. */
  readonly rate: RateLimit;
  /** The most tokens in the bucket: how many requests pass at once after a pause. */
  readonly burst: number;
}

/** A request passes if the bucket has a token, and takes that token. */
export function tokenBucket({ rate: { count, perMs }, burst }: TokenBucket): Limiter {
  let tokens = burst;
  let countedAt = Number.NEGATIVE_INFINITY;
  return (now) => {
    tokens = Math.min(burst, tokens + (Math.max(0, now - countedAt) * count) / perMs);
    countedAt = now;
    // Slightly less than 1, because sums of fractions have rounding errors.
    if (tokens < 1 - 1e-6) return ((1 - tokens) * perMs) / count;
    tokens = Math.max(0, tokens - 1);
    return 0;
  };
}
