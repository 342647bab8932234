import { MAX_ATTEMPTS } from "../core/backoff.ts";
import { ChanceRefusals } from "../core/chance-refusals.ts";
import { RetryBudget } from "../core/retry-budget.ts";
import type { Observe } from "../ports/observer.ts";

const LEAST_RESERVE = 100;

/** Which failed requests of a run are made again, and a warning where there are too many of them. */
export class Retries {
  readonly #budget: RetryBudget;
  readonly #observe: Observe;
  readonly #refusals = new ChanceRefusals();
  #hasAnswered = false;
  #hasWarned = false;

  /** Every call in flight may use up its attempts: a short outage meets all of them at once. */
  constructor(concurrency: number, observe: Observe) {
    const forOneCall = MAX_ATTEMPTS - 1;
    const reserve = Math.max(LEAST_RESERVE, concurrency * forOneCall);
    this.#budget = new RetryBudget({ reserve, unanswered: forOneCall });
    this.#observe = observe;
  }

  /** A request of this run was answered. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  answered(): void {
    this.#hasAnswered = true;
    this.#budget.answered();
    this.#refusals.answered();
  }

  /** A request was refused for now, and the service didn't say why or for how long: whether it may be by chance. */
  mayBeChance(): boolean {
    return this.#refusals.refused();
  }

  mayRetry(): boolean {
    if (this.#budget.take()) return true;
    // One that has never answered is about to end the run, which says it all.
    if (this.#hasAnswered && !this.#hasWarned) {
      this.#hasWarned = true;
      this.#observe({
        kind: "warning",
        code: "RETRIES_EXHAUSTED",
        message: "the service fails more requests than it answers: not all of them are repeated in this run",
        hint: "the next runs try the groups again that fail now; look at what they fail with",
      });
    }
    return false;
  }
}
