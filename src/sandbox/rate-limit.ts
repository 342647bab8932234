import type { RateLimit } from "../core/rate-limit.ts";

/** What a refused request is told about when to come back. */
export type RetryAfter = "seconds" | "date" | "none";

/**
 * Fixed windows, the first of which begins with the first request. The limiter is given the time of a request
 * (milliseconds since the epoch) and returns 0 where it may pass, else the milliseconds until the next window.
 */
export function fixedWindow({ count, perMs }: RateLimit): (now: number) => number {
  let end = 0;
  let used = 0;
  return (now) => {
    if (now >= end) {
      end = now + perMs;
      used = 0;
    }
    if (used === count) return end - now;
    used += 1;
    return 0;
  };
}

/** The value of Retry-After (RFC 9110 §10.2.3) for a wait in milliseconds, rounded up to a whole second. */
export function retryAfterValue(form: RetryAfter, wait: number, now: number): string | undefined {
  switch (form) {
    case "none":
      return undefined;
    case "seconds":
      return String(Math.ceil(wait / 1000));
    case "date":
      return new Date(Math.ceil((now + wait) / 1000) * 1000).toUTCString();
    default:
      return form satisfies never;
  }
}
