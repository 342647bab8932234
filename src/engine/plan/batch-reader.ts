/**
 * Steps through batches one item at a time. Waits only between batches, because awaiting each of a million items would take
 * longer than the work on them.
 */
export class BatchReader<T> {
  readonly #batches: AsyncIterator<readonly T[]>;
  #batch: readonly T[] = [];
  #next = 0;
  #ended = false;

  constructor(batches: AsyncIterable<readonly T[]>) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** The current item. Undefined if `fill` has to be called first, and at the end. */
  get current(): T | undefined {
    return this.#batch[this.#next];
  }

  get ended(): boolean {
    return this.#ended;
  }

  advance(): void {
    this.#next++;
  }

  /** Fetches batches until there is a current item or the end is reached. */
  async fill(): Promise<void> {
    while (this.#next >= this.#batch.length && !this.#ended) {
      const result = await this.#batches.next();
      this.#ended = result.done === true;
      this.#batch = result.done === true ? [] : result.value;
      this.#next = 0;
    }
  }

  /** Lets the producer clean up, even if not everything was read. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }
}

/** Fetches the next batch while the consumer works on the one before. */
export async function* readAhead<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = batches[Symbol.asyncIterator]();
  let pending = iterator.next();
  try {
    for (;;) {
      const result = await pending;
      if (result.done === true) return;
      pending = iterator.next();
      // If the consumer never asks for this batch, its error must not count as an unhandled rejection.
      pending.catch(() => {});
      yield result.value;
    }
  } finally {
    await pending.catch(() => {});
    await iterator.return?.();
  }
}
