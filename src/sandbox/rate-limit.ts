import type { Limiter, RateLimit } from "../core/limits/rate-limit.ts";

/** The form of the Retry-After header in a refusal. */
export type RetryAfter = "seconds" | "date" | "none";

/** Fixed windows. A window begins with the first request after the end of the last window. */
export function fixedWindow({ count, perMs }: RateLimit): Limiter {
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
  }
}
