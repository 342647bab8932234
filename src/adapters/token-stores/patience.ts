import { waitBeforeAttempt } from "../../core/backoff.ts";
import type { Clock } from "../../ports/clock.ts";
import { SecretStoreFailure } from "./secret-store.ts";

/**
 * How long one call is tried at most. Meanwhile a transaction of the ledger may stand open, which keeps the lease with
 * this process, and which a database ends after a minute.
 */
const LONGEST_WAIT = 30_000;

export interface PatienceOptions {
  /** When it began, on the monotonic clock: calls that have one transaction open have one patience. */
  readonly begun?: number;
  /** Once it aborts, nothing is tried again. */
  readonly signal?: AbortSignal | undefined;
}

/** Tries again what failed in passing. While a store asks for patience, no call to it begins. */
export class Patience {
  readonly #clock: Clock;
  /** For how long the store has asked to be left alone, on the monotonic clock, and in which words. */
  #pause: { readonly until: number; readonly request: SecretStoreFailure } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects as `call` did the last time; with `throttled` where the store asks for more patience than there is. */
  async with<T>(
    call: () => Promise<T>,
    { begun = this.#clock.monotonic(), signal }: PatienceOptions = {},
  ): Promise<T> {
    const until = begun + LONGEST_WAIT;
    for (let attempt = 2; ; attempt++) {
      await this.#pauseIsOver(until, signal);
      if (this.#clock.monotonic() > until) throw tooSlow();
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof SecretStoreFailure) || !error.passes) throw error;
        const waitMs = error.retryAfterMs ?? waitBeforeAttempt(attempt, () => this.#clock.random());
        const next = this.#clock.monotonic() + waitMs;
        if (error.problem === "throttled" || error.retryAfterMs !== undefined) this.#pauseAll(next, error);
        if (next > until || signal?.aborted) throw error;
        await this.#clock.sleep(waitMs, signal);
      }
    }
  }

  #pauseAll(until: number, request: SecretStoreFailure): void {
    if (this.#pause === undefined || until > this.#pause.until) this.#pause = { until, request };
  }

  async #pauseIsOver(latest: number, signal: AbortSignal | undefined): Promise<void> {
    while (this.#pause !== undefined) {
      const { until, request } = this.#pause;
      const ms = until - this.#clock.monotonic();
      if (ms <= 0) return;
      if (until > latest || signal?.aborted) throw request;
      await this.#clock.sleep(ms, signal);
    }
  }
}

const tooSlow = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    "it answers, but too slowly",
    "is it well, and how far from here is it? The next sync goes on from where this one stopped",
  );
