import { isFound, isTrial, type LimitSearch, raised, refuted, type SearchScale } from "./limit-search.ts";

/** A limit that is being searched for, and how what is in force has stood the test until now. */
export class TestedLimit {
  readonly #scale: SearchScale;
  #search: LimitSearch;
  #since: number;
  #passes = 0;

  /** Times in milliseconds, of one clock. */
  constructor(search: LimitSearch, scale: SearchScale, now: number) {
    this.#search = search;
    this.#scale = scale;
    this.#since = now;
  }

  /** Another object as soon as something else is in force. */
  get search(): LimitSearch {
    return this.#search;
  }

  get isFound(): boolean {
    return isFound(this.#search, this.#scale);
  }

  get isTrial(): boolean {
    return isTrial(this.#search);
  }

  /** Since when it is tested. */
  get since(): number {
    return this.#since;
  }

  /** A call passed that speaks for what is in force. */
  countPass(): void {
    this.#passes++;
  }

  /** More, once enough have passed for long enough. */
  raiseAfter(passes: number, ms: number, now: number): void {
    if (this.#passes < passes || now - this.#since < ms) return;
    this.#begin(raised(this.#search, this.#scale), now);
  }

  /** Less: `passed` is what is taken to pass. */
  refute(passed: number, now: number): void {
    this.#begin(refuted(this.#search, passed), now);
  }

  #begin(search: LimitSearch, now: number): void {
    this.#search = search;
    this.#since = now;
    this.#passes = 0;
  }
}
