import { AdaptiveLimit, beginSearch, type LimitSearch } from "./limit-search.ts";

/** If this many calls passed, the load under which they passed is safe. */
const EVIDENCE = 8;
/** A limit that was found is tried again after this many answers, and after this many times the last refusal's pause. */
const ANSWERS_LEFT_ALONE = 128;
const PAUSES_LEFT_ALONE = 32;

/** Learns how many calls a service takes at once. Begins with one call, and doubles. */
export class AdaptiveConcurrency {
  readonly #limit: AdaptiveLimit;
  /** Load (other calls in flight) → how many calls passed under it since a refusal was last attributed to the rate. */
  #passes: number[] = [];
  /** How long a limit that was found is left alone, in milliseconds. */
  #patienceMs = 0;

  constructor(ceiling: number) {
    const scale = { ceiling, tolerance: () => 1, step: () => 1, round: Math.ceil };
    this.#limit = new AdaptiveLimit(beginSearch(1, 1), scale, 0);
  }

  get search(): LimitSearch {
    return this.#limit.search;
  }

  get most(): number {
    return this.#limit.search.value;
  }

  /** A call passed. When it began, `load` others were in flight and `search` was in force. */
  passed(load: number, search: LimitSearch, tookLastPlace: boolean, now: number): void {
    this.#passes[load] = (this.#passes[load] ?? 0) + 1;
    if (search !== this.search) return;
    this.#limit.countPass();
    if (!tookLastPlace) return;
    if (!this.#limit.isFound) {
      this.#limit.raiseAfter(search.value / 2, 0, now);
      return;
    }
    const times = 2 ** search.failures;
    this.#limit.raiseAfter(ANSWERS_LEFT_ALONE * times, this.#patienceMs * times, now);
  }

  /** Whether enough calls passed before while at least `load` others were in flight. */
  isProven(load: number): boolean {
    if (load === 0) return true;
    let passes = 0;
    for (let more = load; more < this.#passes.length; more++) passes += this.#passes[more] ?? 0;
    return passes >= EVIDENCE;
  }

  /** A call was refused because `load` others were in flight. The service asked for a pause of `pauseMs`. */
  refused(load: number, pauseMs: number, now: number): void {
    // This load and higher loads are no longer proven.
    this.#passes.length = Math.min(this.#passes.length, load);
    this.#patienceMs = PAUSES_LEFT_ALONE * pauseMs;
    this.#lower(load, now);
  }

  /** A refusal was attributed to the rate. In case that was wrong, past loads no longer count as safe. */
  forgetPasses(): void {
    this.#passes = [];
  }

  timedOut(startedAt: number, now: number): void {
    // Calls that were in flight together may time out together: count them as one timeout.
    if (startedAt >= this.#limit.since) this.#lower(Math.floor(0.75 * this.most), now);
  }

  #lower(passed: number, now: number): void {
    const most = Math.max(1, passed);
    if (most < this.most) this.#limit.refute(most, now);
  }
}
