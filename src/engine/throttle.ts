import type { RateLimit } from "../core/rate-limit.ts";
import type { Clock } from "../ports/clock.ts";
import type { Observe } from "../ports/observer.ts";

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

/** Lets calls through no faster than the ceiling, and not at all while the service asks for patience. */
export class Throttle {
  readonly #clock: Clock;
  readonly #observe: Observe;
  readonly #spacingMs: number;
  #nextStart = 0;
  #pausedUntil = 0;
  #pause = 0;

  constructor(clock: Clock, observe: Observe, rateLimit: RateLimit | undefined) {
    this.#clock = clock;
    this.#observe = observe;
    this.#spacingMs = rateLimit ? rateLimit.perMs / rateLimit.count : 0;
  }

  /** Resolves when the next call may start, or as soon as the signal aborts. */
  async ready(signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = this.#clock.monotonic();
      if (signal.aborted) return;
      if (this.#pausedUntil > now) {
        await this.#clock.sleep(this.#pausedUntil - now, signal);
        continue;
      }
      const start = Math.max(now, this.#nextStart);
      this.#nextStart = start + this.#spacingMs;
      if (start > now) await this.#clock.sleep(start - now, signal);
      if (this.#pausedUntil <= this.#clock.monotonic()) return;
    }
  }

  /** The service asked for patience: for `retryAfterMs`, or for growing pauses where it didn't say. */
  slowDown(retryAfterMs: number | undefined): void {
    const now = this.#clock.monotonic();
    // The calls that were under way together are refused together: that is one refusal, as long as the longest.
    if (this.#pausedUntil > now) {
      this.#pausedUntil = Math.max(this.#pausedUntil, now + (retryAfterMs ?? 0));
      return;
    }
    this.#pause = Math.min(LONGEST_PAUSE, this.#pause === 0 ? FIRST_PAUSE : this.#pause * 2);
    // "After 0 seconds" says no more than nothing at all, and would have the calls repeated without a pause.
    const ms = retryAfterMs || this.#pause * (0.5 + this.#clock.random() / 2);
    this.#pausedUntil = now + ms;
    this.#observe({ kind: "waiting", ms, reason: "the service asked to slow down" });
  }

  /** The service answered: the next refusal starts with a short pause again. */
  succeeded(): void {
    this.#pause = 0;
  }
}
