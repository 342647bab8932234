/** Counts how many of the last `size` calls failed. */
export class FailureWindow {
  readonly #size: number;
  readonly #failed: boolean[] = [];
  #count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get failed(): number {
    return this.#count;
  }

  add(hasFailed: boolean): void {
    this.#failed.push(hasFailed);
    if (hasFailed) this.#count++;
    if (this.#failed.length > this.#size && this.#failed.shift()) this.#count--;
  }
}
