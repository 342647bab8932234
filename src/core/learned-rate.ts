import { beginSearch, type LimitSearch, type SearchScale } from "./limit-search.ts";
import { TestedLimit } from "./tested-limit.ts";

const SHORTEST_PERIOD = 1_000;
const LONGEST_PERIOD = 60_000;
/** A trial outlasts a token bucket's burst of up to so many calls; under a larger one a refusal comes later. */
const LARGEST_BURST = 20;
/** Fewer calls than these don't tell a rate. */
export const RATE_EVIDENCE = 8;
/** A limit that was found is left alone for so many answers, and for twice as many each time that it stood fast. */
const ANSWERS_LEFT_ALONE = 64;

/** Refusals that go on however often the rate is lowered don't come from it. */
const MOST_LOWERED = 3;

/** What passed between two pauses, the second included. */
export interface Span {
  readonly passes: number;
  readonly ms: number;
  /** Of these, the pause at the end, in which the service took no more. */
  readonly pauseMs: number;
}

/**
 * How many calls in a time a service takes: a pace, not a quota. Evenly spaced calls keep within fixed windows and
 * token buckets alike, and leave room in every window for others that share the limit. Before the first refusal there
 * is none.
 */
export class LearnedRate {
  /** In calls per millisecond, as is the limit. */
  readonly #scale: SearchScale;
  #limit: TestedLimit | undefined;
  #lastSpan: Span | undefined;
  /** The last span had too few calls to tell a rate. */
  #wasShort = false;
  /** The rate before it was lowered, and how often it was since. */
  #lowered: { readonly from: number; readonly times: number } | undefined;
  /** The length of the service's windows, as far as it is known: for so long too high a rate may pass. */
  #periodMs = SHORTEST_PERIOD;
  #burst = LARGEST_BURST;

  /** `ceiling` in calls per millisecond. */
  constructor(ceiling: number) {
    this.#scale = {
      ceiling,
      tolerance: (rate) => 0.03 * rate,
      step: (rate) => 0.05 * rate,
      round: (rate) => rate,
    };
  }

  get search(): LimitSearch | undefined {
    return this.#limit?.search;
  }

  /** Between two calls, in milliseconds. */
  get spacing(): number {
    return 1 / Math.min(this.search?.value ?? Number.POSITIVE_INFINITY, this.#scale.ceiling);
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
    const measured = Math.min(this.#scale.ceiling, this.#measure(span));
    if (this.#limit) this.#correct(this.#limit, measured, span.pauseMs, now);
    else this.#begin(measured, span, now);
  }

  /** A refusal by chance parts what one window has let through: what passed before it counts as well, if that is more. */
  #measure(span: Span): number {
    const { passes, ms } = this.#lastSpan ?? { passes: 0, ms: 0 };
    this.#lastSpan = span;
    return Math.max(Math.max(1, span.passes) / span.ms, (passes + span.passes) / (ms + span.ms));
  }

  #begin(measured: number, { passes, ms }: Span, now: number): void {
    // One refusal after a handful of calls may be anything; two are a small limit.
    this.#wasShort = passes < RATE_EVIDENCE && !this.#wasShort;
    if (this.#wasShort) return;
    this.#periodMs = Math.min(LONGEST_PERIOD, Math.max(SHORTEST_PERIOD, ms));
    this.#burst = Math.min(LARGEST_BURST, Math.max(1, passes));
    this.#limit = new TestedLimit(beginSearch(measured, measured / 4), this.#scale, now);
    // Pauses are named in whole seconds, rounded up: what was measured is too low, if anything.
    this.#limit.raiseAfter(0, 0, now);
  }

  #correct(limit: TestedLimit, measured: number, pauseMs: number, now: number): void {
    const { value, passed } = limit.search;
    const former = limit.isTrial ? undefined : this.#formerIfInVain(value);
    if (former !== undefined) {
      this.#limit = new TestedLimit(beginSearch(former, former), this.#scale, now);
      return;
    }
    // What passed before a trial passes still, unless windows are longer than was thought.
    const wasTestedTooShortly = pauseMs > this.#periodMs;
    if (wasTestedTooShortly) this.#periodMs = Math.min(LONGEST_PERIOD, 1.5 * pauseMs);
    limit.refute(
      limit.isTrial && !wasTestedTooShortly
        ? Math.max(passed, Math.min(measured, 0.98 * value))
        : Math.min(measured, 0.95 * value),
      now,
    );
  }

  /** The rate before it was lowered, if that has been done again and again and hasn't helped. */
  #formerIfInVain(value: number): number | undefined {
    const { from, times } = this.#lowered ?? { from: 0, times: 0 };
    this.#lowered = value < from ? { from, times: times + 1 } : { from: value, times: 1 };
    return this.#lowered.times > MOST_LOWERED ? from : undefined;
  }
}
