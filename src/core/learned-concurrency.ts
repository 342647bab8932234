import { beginSearch, type LimitSearch } from "./limit-search.ts";
import { TestedLimit } from "./tested-limit.ts";

/** So many calls that passed are no accident. */
const EVIDENCE = 8;
/** A limit that was found is left alone for so many answers, and so many times the pause that a refusal costs. */
const ANSWERS_LEFT_ALONE = 128;
const PAUSES_LEFT_ALONE = 32;

/** How many calls a service takes at once. It begins with one, and doubles. */
export class LearnedConcurrency {
  readonly #limit: TestedLimit;
  /** Load (others in flight) → calls that passed under it since a refusal was last put down to the rate. */
  #passes: number[] = [];
  #patienceMs = 0;

  constructor(ceiling: number) {
    const scale = { ceiling, tolerance: () => 1, step: () => 1, round: Math.ceil };
    this.#limit = new TestedLimit(beginSearch(1, 1), scale, 0);
  }

  get search(): LimitSearch {
    return this.#limit.search;
  }

  get most(): number {
    return this.#limit.search.value;
  }

  /** A call passed that began beside `load` others under `search`, and maybe took the last place. */
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

  /** As many others in flight, and more, were no problem before. */
  isProven(load: number): boolean {
    if (load === 0) return true;
    let passes = 0;
    for (let more = load; more < this.#passes.length; more++) passes += this.#passes[more] ?? 0;
    return passes >= EVIDENCE;
  }

  /** A call was refused because of the `load` others in flight, and costs a pause. */
  refused(load: number, pauseMs: number, now: number): void {
    this.#passes.length = Math.min(this.#passes.length, load);
    this.#patienceMs = PAUSES_LEFT_ALONE * pauseMs;
    this.#lower(load, now);
  }

  /** A refusal was put down to the rate. If that was wrong, because fewer pass at once now, the next one shows it. */
  forgetPasses(): void {
    this.#passes = [];
  }

  timedOut(startedAt: number, now: number): void {
    // Those that were under way together count once.
    if (startedAt >= this.#limit.since) this.#lower(Math.floor(0.75 * this.most), now);
  }

  #lower(passed: number, now: number): void {
    const most = Math.max(1, passed);
    if (most < this.most) this.#limit.refute(most, now);
  }
}
