import { beginSearch, type LimitSearch } from "./limit-search.ts";
import { TestedLimit } from "./tested-limit.ts";

const SHORTEST_PERIOD = 1_000;
const LONGEST_PERIOD = 60_000;
/** The most of a token bucket's burst that a trial has to outlast; what outlasts more shows itself later. */
const LARGEST_BURST = 20;
/** Fewer calls than these don't tell a rate. */
const EVIDENCE = 8;
/** A limit that was found is left alone for so many answers, and for twice as many each time that it stood fast. */
const ANSWERS_LEFT_ALONE = 64;

/** What passed between two pauses, the second included. */
export interface Span {
  readonly passes: number;
  readonly ms: number;
  /** Of them, how long the service refused more. */
  readonly pauseMs: number;
}

/**
 * How many calls in a time a service takes: a pace, not a quota. Evenly spaced calls keep within fixed windows and
 * token buckets alike, and leave room in every window for others that share the limit. Before the first refusal there
 * is none.
 */
export class LearnedRate {
  readonly #ceiling: number;
  /** In calls per millisecond. */
  #limit: TestedLimit | undefined;
  /** The last span had too few calls to tell a rate. */
  #wasShort = false;
  /** How long it takes until too high a rate is refused, as far as that is known. */
  #periodMs = SHORTEST_PERIOD;
  #burst = LARGEST_BURST;

  /** `ceiling` in calls per millisecond. */
  constructor(ceiling: number) {
    this.#ceiling = ceiling;
  }

  get search(): LimitSearch | undefined {
    return this.#limit?.search;
  }

  /** Between two calls, in milliseconds. */
  get spacing(): number {
    return 1 / Math.min(this.search?.value ?? Number.POSITIVE_INFINITY, this.#ceiling);
  }

  /** A call passed that had to wait for its turn under this search. */
  passed(search: LimitSearch, now: number): void {
    const limit = this.#limit;
    if (limit === undefined || search !== limit.search) return;
    limit.countPass();
    const { value, passed, failures } = search;
    if (limit.isFound) {
      limit.raiseAfter(ANSWERS_LEFT_ALONE * 2 ** failures, this.#periodMs, now);
    } else {
      // The smaller a step is, the longer it takes to use up a burst.
      const steps = limit.isTrial ? value / (value - passed) : 2;
      limit.raiseAfter(this.#burst * steps, this.#periodMs, now);
    }
  }

  /** A pause for the rate's sake is over. */
  learn(span: Span, now: number): void {
    const measured = Math.min(this.#ceiling, Math.max(1, span.passes) / span.ms);
    if (this.#limit) this.#correct(this.#limit, measured, span.pauseMs, now);
    else this.#begin(measured, span, now);
  }

  /** There was a pause: what passed before it doesn't count. */
  restart(now: number): void {
    this.#limit?.restart(now);
  }

  #begin(measured: number, { passes, ms }: Span, now: number): void {
    // One refusal after a handful of calls may be anything; two are a small limit.
    this.#wasShort = passes < EVIDENCE && !this.#wasShort;
    if (this.#wasShort) return;
    this.#periodMs = Math.min(LONGEST_PERIOD, Math.max(SHORTEST_PERIOD, ms));
    this.#burst = Math.min(LARGEST_BURST, Math.max(1, passes));
    const scale = {
      ceiling: this.#ceiling,
      tolerance: (rate: number) => 0.03 * rate,
      step: (rate: number) => 0.05 * rate,
      round: (rate: number) => rate,
    };
    this.#limit = new TestedLimit(beginSearch(measured, measured / 4), scale, now);
    // Pauses are named in whole seconds, rounded up: what was measured is rather too low.
    this.#limit.raiseAfter(0, 0, now);
  }

  #correct(limit: TestedLimit, measured: number, pauseMs: number, now: number): void {
    const { value, passed } = limit.search;
    const wasTestedTooShortly = pauseMs > this.#periodMs;
    if (wasTestedTooShortly) this.#periodMs = Math.min(LONGEST_PERIOD, 1.5 * pauseMs);
    limit.refute(
      limit.isTrial && !wasTestedTooShortly
        ? Math.max(passed, Math.min(measured, 0.98 * value))
        : Math.min(measured, 0.95 * value),
      now,
    );
  }
}
