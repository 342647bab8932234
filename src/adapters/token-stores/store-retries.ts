import { waitBeforeAttempt } from "../../core/failure/backoff.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe } from "../../ports/observer.ts";
import { SecretStoreFailure } from "./secret-store.ts";

/** How long one call is tried that fails in passing, in milliseconds. */
const LONGEST_TRY = 30_000;
/** How long a store that asks to wait is waited for, in milliseconds: stores often count their quotas by the minute. */
const LONGEST_WAIT = 10 * 60_000;
/** A wait is reported if it is at least as long, and then each time that so much has passed. In milliseconds. */
const LONG_PAUSE = 10_000;

/** Most calls to a store at a time. */
export const CONCURRENCY = 8;

interface RetryOptions {
  /** How long the store is waited for if it asks for that. In milliseconds. */
  readonly longestWait?: number;
  /** Once it aborts, nothing is tried again. */
  readonly signal?: AbortSignal | undefined;
}

type Attempt<T> = { readonly value: T } | { readonly failure: SecretStoreFailure };

/**
 * Repeats a single call of a secret store after a failure: for 30 seconds if the failure may pass, for 10 minutes while the store
 * asks for a pause. Meanwhile no call to it starts, and afterwards fewer calls run at a time. No transaction is open while
 * a secret store is called. The layer above is the group's own backoff (core/failure/backoff.ts).
 */
export class StoreRetries {
  readonly #clock: Clock;
  readonly #observe: Observe;
  readonly #slots = new AdaptiveLimit(CONCURRENCY);
  /** Until when the store has asked for no calls, on the monotonic clock, and its failure that asked for it. */
  #pause: { readonly until: number; readonly request: SecretStoreFailure } | undefined;
  #reportAgainAt = 0;

  constructor(clock: Clock, observe: Observe = () => {}) {
    this.#clock = clock;
    this.#observe = observe;
  }

  /** Rejects as the last attempt of `call` did; with `throttled` if the store asks for a longer pause than the time left. */
  async with<T>(
    call: () => Promise<T>,
    { longestWait = LONGEST_WAIT, signal }: RetryOptions = {},
  ): Promise<T> {
    const begun = this.#clock.monotonic();
    let failingSince: number | undefined;
    for (let attempt = 2; ; attempt++) {
      const result = await this.#attempt(call, begun + longestWait, signal);
      if ("value" in result) return result.value;
      const { failure } = result;
      const now = this.#clock.monotonic();
      const next = now + (failure.retryAfterMs ?? waitBeforeAttempt(attempt, () => this.#clock.random()));
      const isForAll = failure.problem === "throttled" || failure.retryAfterMs !== undefined;
      if (isForAll) this.#pauseAll(next, failure);
      failingSince = isForAll ? undefined : (failingSince ?? now);
      const isTooLong =
        next > (failingSince === undefined ? begun + longestWait : failingSince + LONGEST_TRY);
      if (isTooLong || signal?.aborted) throw failure;
      if (isForAll && next - begun >= LONG_PAUSE) this.#report(next - now, failure);
      await this.#clock.sleep(next - now, signal);
    }
  }

  #attempt<T>(call: () => Promise<T>, until: number, signal: AbortSignal | undefined): Promise<Attempt<T>> {
    return this.#slots.use(async () => {
      await this.#pauseIsOver(until, signal);
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
    // Calls that ran at the same time are refused at the same time: halve the limit once.
    if (former <= this.#clock.monotonic()) this.#slots.halve();
    if (until > former) this.#pause = { until, request };
  }

  #report(ms: number, { message }: SecretStoreFailure): void {
    const now = this.#clock.monotonic();
    if (now < this.#reportAgainAt) return;
    this.#reportAgainAt = now + LONG_PAUSE;
    this.#observe({ kind: "waiting", ms, reason: `a token store asks to wait: ${message}` });
  }

  async #pauseIsOver(longest: number, signal: AbortSignal | undefined): Promise<void> {
    while (this.#pause !== undefined) {
      const { until, request } = this.#pause;
      const ms = until - this.#clock.monotonic();
      if (ms <= 0) return;
      if (until > longest || signal?.aborted) throw request;
      await this.#clock.sleep(ms, signal);
    }
  }
}

/** The limit grows by one after this many successes in a row for each of its slots. */
const GOOD_ENDS = 4;

/** Limits how many calls run at a time. `halve` halves the limit; while calls succeed, it grows again slowly. */
class AdaptiveLimit {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #used = 0;
  #goodEnds = 0;

  constructor(most: number) {
    this.#most = most;
    this.#limit = most;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    while (this.#used >= this.#limit) await new Promise<void>((free) => this.#waiting.push(free));
    this.#used++;
    try {
      const result = await work();
      this.#grow();
      return result;
    } finally {
      this.#used--;
      for (const free of this.#waiting.splice(0, this.#limit - this.#used)) free();
    }
  }

  halve(): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#goodEnds = 0;
  }

  #grow(): void {
    if (this.#limit === this.#most || ++this.#goodEnds < this.#limit * GOOD_ENDS) return;
    this.#limit++;
    this.#goodEnds = 0;
  }
}

/**
 * Calls `work` with each item, at most `concurrency` at a time. Rejects with the first error, once all calls that began
 * have ended.
 */
export async function inParallel<Item>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const item of rest) {
      if (failure) return;
      try {
        await work(item);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  if (failure) throw failure.error;
}
