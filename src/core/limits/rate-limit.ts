/** At most `count` requests in `perMs` milliseconds. */
export interface RateLimit {
  readonly count: number;
  readonly perMs: number;
}

const PERIODS: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };

/** `5/s`, `170/min` or `9000/h`; undefined for anything else. */
export const parseRateLimit = (text: string): RateLimit | undefined =>
  /^\d+\/[a-z]+$/.test(text) ? parseWindow(text) : undefined;

/** The same forms, and windows of any length, such as `180/10s`; undefined for anything else. */
export function parseWindow(text: string): RateLimit | undefined {
  const [, count, periods = "", period = ""] = /^(\d+)\/(\d*)(s|min|h)$/.exec(text) ?? [];
  const perMs = (periods === "" ? 1 : Number(periods)) * (PERIODS[period] ?? 0);
  return perMs > 0 && Number(count) > 0 ? { count: Number(count), perMs } : undefined;
}

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
