import type { RateLimit } from "../core/rate-limit.ts";

/** What a refused request is told about when to come back. */
export type RetryAfter = "seconds" | "date" | "none";

/**
 * Given the time of a request (milliseconds since the epoch): 0 where it may pass, which then counts, else the
 * milliseconds until one may.
 */
export type Limiter = (now: number) => number;

/** Fixed windows, each of which begins with the first request after the one before. */
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

export interface TokenBucket {
  /** How fast tokens come. */
  readonly rate: RateLimit;
  /** Most tokens: so many requests pass at once after a while without any. */
  readonly burst: number;
}

/** A request takes a token, and passes where there is one. */
export function tokenBucket({ rate: { count, perMs }, burst }: TokenBucket): Limiter {
  let tokens = burst;
  let countedAt = Number.NEGATIVE_INFINITY;
  return (now) => {
    tokens = Math.min(burst, tokens + (Math.max(0, now - countedAt) * count) / perMs);
    countedAt = now;
    // Not quite 1: fractions of tokens add up with rounding errors.
    if (tokens < 1 - 1e-6) return ((1 - tokens) * perMs) / count;
    tokens = Math.max(0, tokens - 1);
    return 0;
  };
}

/** The places of requests that are being served; more than `count` at once are turned away. */
export class Places {
  readonly #count: number;
  #taken = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /** Takes a place; false where there is none. */
  take(): boolean {
    if (this.#taken >= this.#count) return false;
    this.#taken++;
    return true;
  }

  free(): void {
    this.#taken--;
  }
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
