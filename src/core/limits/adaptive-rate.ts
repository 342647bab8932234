import { AdaptiveLimit, beginSearch, type LimitSearch, type SearchScale } from "./limit-search.ts";

const SHORTEST_PERIOD = 1_000;
const LONGEST_PERIOD = 60_000;
/** In calls. A trial outlasts a token bucket's burst of up to this size. After a larger burst, the refusal comes later. */
const LARGEST_BURST = 20;
/** A rate is measured over at least this many calls. */
export const RATE_EVIDENCE = 8;
/** A limit that was found is tried again after this many answers, and after twice as many each time a trial fails. */
const ANSWERS_LEFT_ALONE = 64;

/** If refusals go on after the rate was lowered this many times, they don't come from the rate. */
const MOST_LOWERED = 3;

/** The time from the end of one pause to the end of the next. */
export interface Span {
  /** How many calls passed in it. */
  readonly passes: number;
  readonly ms: number;
  /** How much of `ms` is the pause at the end, in which the service took no calls. */
  readonly pauseMs: number;
}

/**
 * Learns how many calls a second a service takes, and spaces them evenly: even spacing keeps within fixed windows and
 * token buckets alike, and leaves room in every window for others that share the limit. Before the first refusal,
 * only the ceiling applies.
 */
export class AdaptiveRate {
  /** In calls per millisecond, like the limit. */
  readonly #scale: SearchScale;
  #limit: AdaptiveLimit | undefined;
  #lastSpan: Span | undefined;
  /** The last span had too few calls to measure a rate. */
  #wasShort = false;
  /** The rate before it was first lowered, and how many times it was lowered since. */
  #lowered: { readonly from: number; readonly times: number } | undefined;
  /** The length of the service's windows, as estimated: a rate that is too high may pass for this long. */
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

  /** The time between the starts of two calls, in milliseconds. */
  get spacing(): number {
    return 1 / Math.min(this.search?.value ?? Number.POSITIVE_INFINITY, this.#scale.ceiling);
  }

  /** A call passed that had to wait for its turn because of this search's rate. */
  passed(search: LimitSearch, now: number): void {
    const limit = this.#limit;
    if (limit === undefined || search !== limit.search) return;
    limit.countPass();
    const { value, passed, failures } = search;
    if (limit.isFound) {
      limit.raiseAfter(ANSWERS_LEFT_ALONE * 2 ** failures, this.#periodMs, now);
    } else {
      // A smaller step takes longer to use up a burst.
      const steps = limit.isTrial ? value / (value - passed) : 2;
      limit.raiseAfter(this.#burst * steps, this.#periodMs, now);
    }
  }

  /** Learns from a span whose pause was attributed to the rate. The pause is over. */
  learn(span: Span, now: number): void {
    const measured = Math.min(this.#scale.ceiling, this.#measure(span));
    if (this.#limit) this.#correct(this.#limit, measured, span.pauseMs, now);
    else this.#begin(measured, span, now);
  }

  /**
   * Calls per millisecond in this span; or in this span and the span before together, if that is more. A random refusal
   * splits one window of the service into two spans.
   */
  #measure(span: Span): number {
    const { passes, ms } = this.#lastSpan ?? { passes: 0, ms: 0 };
    this.#lastSpan = span;
    return Math.max(Math.max(1, span.passes) / span.ms, (passes + span.passes) / (ms + span.ms));
  }

  #begin(measured: number, { passes, ms }: Span, now: number): void {
    // A refusal after a few calls may have any reason. Two such refusals in a row mean a small limit.
    this.#wasShort = passes < RATE_EVIDENCE && !this.#wasShort;
    if (this.#wasShort) return;
    this.#periodMs = Math.min(LONGEST_PERIOD, Math.max(SHORTEST_PERIOD, ms));
    this.#burst = Math.min(LARGEST_BURST, Math.max(1, passes));
    this.#limit = new AdaptiveLimit(beginSearch(measured, measured / 4), this.#scale, now);
    // Services round the pause up to whole seconds, so the measured rate is too low rather than too high.
    this.#limit.raiseAfter(0, 0, now);
  }

  #correct(limit: AdaptiveLimit, measured: number, pauseMs: number, now: number): void {
    const { value, passed } = limit.search;
    const former = limit.isTrial ? undefined : this.#formerIfInVain(value);
    if (former !== undefined) {
      this.#limit = new AdaptiveLimit(beginSearch(former, former), this.#scale, now);
      return;
    }
    // The rate before a trial still passes, unless the service's windows are longer than estimated.
    const wasTestedTooShortly = pauseMs > this.#periodMs;
    if (wasTestedTooShortly) this.#periodMs = Math.min(LONGEST_PERIOD, 1.5 * pauseMs);
    limit.refute(
      limit.isTrial && !wasTestedTooShortly
        ? Math.max(passed, Math.min(measured, 0.98 * value))
        : Math.min(measured, 0.95 * value),
      now,
    );
  }

  /** The rate before it was lowered, if lowering it `MOST_LOWERED` times didn't end the refusals. */
  #formerIfInVain(value: number): number | undefined {
    const { from, times } = this.#lowered ?? { from: 0, times: 0 };
    this.#lowered = value < from ? { from, times: times + 1 } : { from: value, times: 1 };
    return this.#lowered.times > MOST_LOWERED ? from : undefined;
  }
}
