/**
 * The search for a limit that nobody tells: halfway between what has passed and what was refused; and beyond, in steps
 * that double for as long as they pass. (TCP BIC searches for its congestion window in this way.)
 *
 * `passed` ≤ `value` ≤ the scale's ceiling, and `value` < `refused`.
 */
export interface LimitSearch {
  /** What is in force. */
  readonly value: number;
  /** The most that is taken to pass. */
  readonly passed: number;
  /** The least that is taken to be refused; Infinity where that isn't known, or was too long ago to count. */
  readonly refused: number;
  /** How far the next step beyond goes. */
  readonly stride: number;
  /** So many attempts in a row to go beyond all that was known have failed. */
  readonly failures: number;
}

/** What is searched. */
export interface SearchScale {
  readonly ceiling: number;
  /** At this value, the difference that is not worth a refusal. */
  readonly tolerance: (value: number) => number;
  /** The first step beyond this value. */
  readonly step: (value: number) => number;
  /** Rounds up to a value that there is. */
  readonly round: (value: number) => number;
}

export const beginSearch = (value: number, stride: number): LimitSearch => ({
  value,
  passed: value,
  refused: Infinity,
  stride,
  failures: 0,
});

/** More than what is known to pass is in force. */
export const isTrial = ({ value, passed }: LimitSearch): boolean => value > passed;

/** The limit is known as exactly as it matters. */
export const isFound = (
  { value, passed, refused }: LimitSearch,
  { ceiling, tolerance }: SearchScale,
): boolean => value === passed && (passed >= ceiling || refused - passed <= tolerance(passed));

/** What is in force has passed for long enough. Where the limit is found, the search goes beyond it. */
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

/** What is in force was refused; `passed`, which is less, is taken to pass, and is in force from now on. */
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
