import { waitBeforeAttempt } from "../../core/failure/backoff.ts";
import type { Clock } from "../../ports/clock.ts";
import { SecretStoreFailure } from "./secret-store.ts";

/** How long one call is tried at most, in milliseconds. A transaction of the ledger may be open meanwhile. */
const LONGEST_WAIT = 30_000;
/** In milliseconds. For a longer pause the call fails, and the engine waits with no transaction open. */
const LONGEST_PAUSE = 10_000;

/** Most calls to a store at a time. */
export const CONCURRENCY = 8;

interface RetryOptions {
  /** When the transaction that these calls belong to began, on the monotonic clock: they share its 30 seconds. */
  readonly begun?: number;
  /** Once it aborts, nothing is tried again. */
  readonly signal?: AbortSignal | undefined;
}

type Attempt<T> = { readonly value: T } | { readonly failure: SecretStoreFailure };

/**
 * Repeats a single call of a secret store after a passing failure, for 30 seconds at most. While the store asks for a
 * pause, no call to it starts, and afterwards fewer calls run at a time.
 *
 * This is the lowest retry of a secret store: one lost call must not roll back the batch that it belongs to. It ends
 * early because a transaction of the ledger may be open meanwhile. The layer above waits longer, with no transaction
 * open (engine/tokens/retry-batch.ts).
 */
export class StoreRetries {
  readonly #clock: Clock;
  readonly #slots = new AdaptiveLimit(CONCURRENCY);
  /** Until when the store has asked for no calls, on the monotonic clock, and its failure that asked for it. */
  #pause: { readonly until: number; readonly request: SecretStoreFailure } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Rejects as the last attempt of `call` did; with `throttled` if the store asks for a longer pause than the time
   * left, and with `slow` if the time is up because the call waited for other calls.
   */
  async with<T>(
    call: () => Promise<T>,
    { begun = this.#clock.monotonic(), signal }: RetryOptions = {},
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
    // Calls that ran at the same time are refused at the same time: halve the limit once.
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
  new SecretStoreFailure("slow", "it answers, but too slowly", "is it well, and how far from here is it?");

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
