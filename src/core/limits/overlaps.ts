import type { Call } from "./adaptive-limiter.ts";

/** So many refusals at different times show how many calls the service takes at once. Later ones outweigh nothing more. */
const TELLING_REFUSALS = { least: 4, most: 12 };

/** Notices that calls are refused because too many overlap. */
export class Overlaps {
  /** How many calls passed, and how many were refused, that began beside so many others. */
  readonly #passed: number[] = [];
  readonly #refused: number[] = [];
  #refusals = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #isReported = false;

  passed({ others }: Call): void {
    this.#passed[others] = (this.#passed[others] ?? 0) + 1;
  }

  /**
   * Returns how many calls the service takes at once, if calls are refused only beside so many others, most of those are
   * refused, and few pass beside more; and that once. (A few pass in any case: an answer that is under way makes one call
   * more seem to be in flight.)
   */
  refused({ startedAt, others }: Call, now: number): number | undefined {
    // Calls that are in flight together are refused together: they count once.
    if (startedAt >= this.#refusedAt) {
      this.#refusedAt = now;
      this.#refusals++;
      this.#refused[others] = (this.#refused[others] ?? 0) + 1;
    }
    const fewest = this.#refused.findIndex((count) => count !== undefined);
    const weight = Math.min(this.#refusals, TELLING_REFUSALS.most);
    const isLimit =
      fewest > 0 &&
      sumFrom(fewest, this.#refused) > sumFrom(fewest, this.#passed) &&
      sumFrom(fewest + 1, this.#passed) < Math.max(weight, 3 * sumFrom(fewest + 1, this.#refused));
    if (this.#isReported || this.#refusals < TELLING_REFUSALS.least || !isLimit) return undefined;
    this.#isReported = true;
    return fewest;
  }
}

const sumFrom = (index: number, counts: readonly number[]): number =>
  counts.slice(index).reduce((sum, count) => sum + count, 0);
