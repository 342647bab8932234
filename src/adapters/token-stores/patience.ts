import { waitBeforeAttempt } from "../../core/backoff.ts";
import type { Clock } from "../../ports/clock.ts";
import { SecretStoreFailure } from "./secret-store.ts";

/**
 * A store that asks for patience for so long is not available. Meanwhile a transaction of the ledger stands open, which
 * keeps the lease with this process, and which a database ends after a minute.
 */
const LONGEST_WAIT = 30_000;

/** Repeats what a store was too slow for. While it asks for patience, no call to it begins. */
export class Patience {
  readonly #clock: Clock;
  #quietUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Rejects as `call` does, with `unavailable` in place of `slow`. Several calls that have one transaction open give
   * the moment on the monotonic clock when they `begun`: their patience is one.
   */
  async with<T>(call: () => Promise<T>, begun = this.#clock.monotonic()): Promise<T> {
    for (let attempt = 2; ; attempt++) {
      await this.#quiet();
      if (this.#clock.monotonic() - begun > LONGEST_WAIT) throw tooSlow();
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof SecretStoreFailure) || error.problem !== "slow") throw error;
        const now = this.#clock.monotonic();
        const waitMs = error.retryAfterMs ?? waitBeforeAttempt(attempt, () => this.#clock.random());
        if (now + waitMs - begun > LONGEST_WAIT)
          throw new SecretStoreFailure("unavailable", error.message, error.hint);
        this.#quietUntil = Math.max(this.#quietUntil, now + waitMs);
      }
    }
  }

  async #quiet(): Promise<void> {
    for (;;) {
      const ms = this.#quietUntil - this.#clock.monotonic();
      if (ms <= 0) return;
      await this.#clock.sleep(ms);
    }
  }
}

const tooSlow = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    "it answers, but too slowly",
    "is it well, and how far from here is it? The next sync goes on from where this one stopped",
  );
