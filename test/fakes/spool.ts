import type { OpenSpool, Spool } from "../../src/ports/spool.ts";

class InMemorySpool<T> implements Spool<T> {
  readonly #items: T[] = [];
  #closed = false;

  get length(): number {
    return this.#items.length;
  }

  append(item: T): void {
    // Return a copy, as a file would.
    this.#items.push(JSON.parse(JSON.stringify(item)) as T);
  }

  async *read(): AsyncGenerator<readonly T[]> {
    for (let start = 0; start < this.#items.length; start += 2) {
      if (this.#closed) throw new Error("read after close");
      yield this.#items.slice(start, start + 2);
    }
  }

  close(): void {
    this.#closed = true;
  }
}

export const openSpool: OpenSpool = () => new InMemorySpool();
