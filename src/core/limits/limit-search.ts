/**
 * A search for a limit that the service doesn't publish. It tries the middle between the highest value that passed and
 * the lowest that was refused. Above the highest known value it goes in steps that double as long as they pass. (TCP BIC
 * searches for its congestion window in this way.)
 *
 * `passed` ≤ `value` ≤ the scale's ceiling, and `value` < `refused`.
 */
export interface LimitSearch {
  /** The limit in force. */
  readonly value: number;
  /** The highest value that is assumed to pass. */
  readonly passed: number;
  /** The lowest value that is assumed to be refused; Infinity if none is known, or if that was too long ago to count. */
  readonly refused: number;
  /** The size of the next step above the highest known value. */
  readonly stride: number;
  /** How many attempts in a row to go above the highest known value have failed. */
  readonly failures: number;
}

/** The values among which a search looks. */
export interface SearchScale {
  readonly ceiling: number;
  /** A smaller difference than this isn't worth another refusal. */
  readonly tolerance: (value: number) => number;
  /** The first step above this value. */
  readonly step: (value: number) => number;
  /** Rounds up to a possible value. */
  readonly round: (value: number) => number;
}

export const beginSearch = (value: number, stride: number): LimitSearch => ({
  value,
  passed: value,
  refused: Infinity,
  stride,
  failures: 0,
});

/** Whether the limit in force is higher than what is known to pass. */
export const isTrial = ({ value, passed }: LimitSearch): boolean => value > passed;

/** Whether the limit is known within the tolerance. */
export const isFound = (
  { value, passed, refused }: LimitSearch,
  { ceiling, tolerance }: SearchScale,
): boolean => value === passed && (passed >= ceiling || refused - passed <= tolerance(passed));

/** The next state, after the value in force has passed for long enough. If the limit was found, tries a higher one. */
export function raised(search: LimitSearch, scale: SearchScale): LimitSearch {
  const { value: passed, refused, stride } = search;
  const { ceiling, round } = scale;
  const next = { ...search, passed };
  if (passed >= ceiling) return next;
  if (isFound(search, scale)) {
    const step = scale.step(passed);
    return { ...next, value: Math.min(ceiling, passed + step), refused: Infinity, stride: 2 * step };
  }
  if (isFound(next, scale)) return next;
  if (refused < Infinity) return { ...next, value: round(Math.sqrt(passed * refused)) };
  return { ...next, value: Math.min(ceiling, passed + stride), stride: 2 * stride, failures: 0 };
}

/** The next state, after the value in force was refused. `passed` is lower: it is assumed to pass, and comes into force. */
export function refuted(search: LimitSearch, passed: number): LimitSearch {
  const wentBeyond = isTrial(search) && search.refused === Infinity;
  return {
    ...search,
    value: passed,
    passed,
    refused: search.value,
    failures: wentBeyond ? search.failures + 1 : search.failures,
  };
}

/** A limit that adapts: its search, and how many calls have passed under the value in force. */
export class AdaptiveLimit {
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

  /** A new object each time another value comes into force. */
  get search(): LimitSearch {
    return this.#search;
  }

  get isFound(): boolean {
    return isFound(this.#search, this.#scale);
  }

  get isTrial(): boolean {
    return isTrial(this.#search);
  }

  /** When the value in force came into force. */
  get since(): number {
    return this.#since;
  }

  /** A call passed under the value in force. */
  countPass(): void {
    this.#passes++;
  }

  /** Raises the limit, if at least `passes` calls have passed under it in at least `ms` milliseconds. */
  raiseAfter(passes: number, ms: number, now: number): void {
    if (this.#passes < passes || now - this.#since < ms) return;
    this.#begin(raised(this.#search, this.#scale), now);
  }

  /** Lowers the limit to `passed`, after a refusal. */
  refute(passed: number, now: number): void {
    this.#begin(refuted(this.#search, passed), now);
  }

  #begin(search: LimitSearch, now: number): void {
    this.#search = search;
    this.#since = now;
    this.#passes = 0;
  }
}
