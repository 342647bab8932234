/**
 * Steps through batches one item at a time, and waits only between batches:
 * awaiting every one of a million items would cost more than the work on them.
 */
export class BatchReader<T> {
  readonly #batches: AsyncIterator<readonly T[]>;
  #batch: readonly T[] = [];
  #next = 0;
  #ended = false;

  constructor(batches: AsyncIterable<readonly T[]>) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** The item at hand, without waiting; undefined where `fill` has to be awaited first, or at the end. */
  get current(): T | undefined {
    return this.#batch[this.#next];
  }

  get ended(): boolean {
    return this.#ended;
  }

  advance(): void {
    this.#next++;
  }

  /** Fetches batches until there is an item at hand, or none left. */
  async fill(): Promise<void> {
    while (this.#next >= this.#batch.length && !this.#ended) {
      const result = await this.#batches.next();
      this.#ended = result.done === true;
      this.#batch = result.done === true ? [] : result.value;
      this.#next = 0;
    }
  }

  /** Lets the producer clean up, also where not everything was read. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }
}

/** Fetches the next batch while the consumer works on the last one. */
export async function* readAhead<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = batches[Symbol.asyncIterator]();
  let pending = iterator.next();
  try {
    for (;;) {
      const result = await pending;
      if (result.done === true) return;
      pending = iterator.next();
      // The consumer may never come back for it: its error is not to be an unhandled one.
      pending.catch(() => {});
      yield result.value;
    }
  } finally {
    await pending.catch(() => {});
    await iterator.return?.();
  }
}
