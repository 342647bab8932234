/** How many good ends in a row, for each slot, let one more be used. */
const GOOD_ENDS = 4;

/** At most so many at a time; after a `halve` half as many, and slowly more again while all goes well. */
export class Slots {
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
