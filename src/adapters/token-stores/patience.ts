import { waitBeforeAttempt } from "../../core/backoff.ts";
import type { Clock } from "../../ports/clock.ts";
import { SecretStoreFailure } from "./secret-store.ts";
import { Slots } from "./slots.ts";

/** How long one call is tried at most. Meanwhile a transaction of the ledger may stand open. */
const LONGEST_WAIT = 30_000;
/** A longer pause is waited for by the caller, with no transaction open. */
const LONGEST_PAUSE = 10_000;

/** Most calls to a store at a time. */
export const CONCURRENCY = 8;

export interface PatienceOptions {
  /** When it began, on the monotonic clock: calls that have one transaction open have one patience. */
  readonly begun?: number;
  /** Once it aborts, nothing is tried again. */
  readonly signal?: AbortSignal | undefined;
}

type Attempt<T> = { readonly value: T } | { readonly failure: SecretStoreFailure };

/** Tries again what failed in passing. While a store asks for patience, no call to it begins, and then fewer at a time. */
export class Patience {
  readonly #clock: Clock;
  readonly #slots = new Slots(CONCURRENCY);
  /** For how long the store has asked to be left alone, on the monotonic clock, and in which words. */
  #pause: { readonly until: number; readonly request: SecretStoreFailure } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Rejects as `call` did the last time; with `throttled` where the store asks for more patience than there is, and
   * with `slow` where time is up for the call has waited for others.
   */
  async with<T>(
    call: () => Promise<T>,
    { begun = this.#clock.monotonic(), signal }: PatienceOptions = {},
  ): Promise<T> {
    for (let attempt = 2; ; attempt++) {
      const result = await this.#attempt(call, begun, signal);
      if ("value" in result) return result.value;
      const { failure } = result;
      const waitMs = failure.retryAfterMs ?? waitBeforeAttempt(attempt, () => this.#clock.random());
      const next = this.#clock.monotonic() + waitMs;
      const isForAll = failure.problem === "throttled" || failure.retryAfterMs !== undefined;
      if (isForAll) this.#pauseAll(next, failure);
      const isTooLong = next > begun + LONGEST_WAIT || (isForAll && waitMs > LONGEST_PAUSE);
      if (isTooLong || signal?.aborted) throw failure;
      await this.#clock.sleep(waitMs, signal);
    }
  }

  #attempt<T>(call: () => Promise<T>, begun: number, signal: AbortSignal | undefined): Promise<Attempt<T>> {
    return this.#slots.use(async () => {
      await this.#pauseIsOver(begun, signal);
      if (this.#clock.monotonic() > begun + LONGEST_WAIT) throw this.#whyLate(begun);
      try {
        return { value: await call() };
      } catch (failure) {
        if (!(failure instanceof SecretStoreFailure) || !failure.passes) throw failure;
        return { failure };
      }
    });
  }

  #pauseAll(until: number, request: SecretStoreFailure): void {
    const { until: former = 0 } = this.#pause ?? {};
    // Those that were under way together are refused together: that is one lesson.
    if (former <= this.#clock.monotonic()) this.#slots.halve();
    if (until > former) this.#pause = { until, request };
  }

  async #pauseIsOver(begun: number, signal: AbortSignal | undefined): Promise<void> {
    while (this.#pause !== undefined) {
      const { until, request } = this.#pause;
      const ms = until - this.#clock.monotonic();
      if (ms <= 0) return;
      if (until > begun + LONGEST_WAIT || ms > LONGEST_PAUSE || signal?.aborted) throw request;
      await this.#clock.sleep(ms, signal);
    }
  }

  #whyLate(begun: number): SecretStoreFailure {
    return this.#pause !== undefined && this.#pause.until > begun ? this.#pause.request : tooSlow();
  }
}

const tooSlow = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "slow",
    "it answers, but too slowly",
    "is it well, and how far from here is it? The next sync goes on from where this one stopped",
  );
