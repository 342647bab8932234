/** The limit grows by one after this many successes in a row for each of its slots. */
const GOOD_ENDS = 4;

/** Limits how many calls run at a time. `halve` halves the limit; while calls succeed, it grows again slowly. */
export class AdaptiveLimit {
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
