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
  #quietUntil = 0;
  /** With which the store asked for it. */
  #request: SecretStoreFailure | undefined;

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
      await this.#quiet(until, signal);
      if (this.#clock.monotonic() > until) throw tooSlow();
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof SecretStoreFailure) || !error.passes) throw error;
        const waitMs = error.retryAfterMs ?? waitBeforeAttempt(attempt, () => this.#clock.random());
        const next = this.#clock.monotonic() + waitMs;
        if (error.problem === "throttled" || error.retryAfterMs !== undefined) this.#keepQuiet(next, error);
        if (next > until || signal?.aborted) throw error;
        await this.#clock.sleep(waitMs, signal);
      }
    }
  }

  #keepQuiet(until: number, request: SecretStoreFailure): void {
    if (until <= this.#quietUntil) return;
    this.#quietUntil = until;
    this.#request = request;
  }

  async #quiet(until: number, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const ms = this.#quietUntil - this.#clock.monotonic();
      if (ms <= 0) return;
      if (this.#request && (this.#quietUntil > until || signal?.aborted)) throw this.#request;
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
