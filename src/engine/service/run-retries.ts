import { MAX_ATTEMPTS } from "../../core/failure/backoff.ts";
import { RandomRefusalDetector } from "../../core/limits/random-refusals.ts";
import { RetryBudget } from "../../core/limits/retry-budget.ts";
import type { Observe } from "../../ports/observer.ts";

const LEAST_RESERVE = 100;

/** Decides which failed requests of a run may be repeated, and warns if too many fail. */
export class RunRetries {
  readonly #budget: RetryBudget;
  readonly #observe: Observe;
  readonly #refusals = new RandomRefusalDetector();
  #hasAnswered = false;
  #hasWarned = false;

  /** The reserve lets every call in flight use all its attempts, because a short outage hits all of them at once. */
  constructor(concurrency: number, observe: Observe) {
    const forOneCall = MAX_ATTEMPTS - 1;
    const reserve = Math.max(LEAST_RESERVE, concurrency * forOneCall);
    this.#budget = new RetryBudget({ reserve, unanswered: forOneCall });
    this.#observe = observe;
  }

  /** Whether any request of this run was answered. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  answered(): void {
    this.#hasAnswered = true;
    this.#budget.answered();
    this.#refusals.answered();
  }

  /** Counts a 503 without Retry-After. Returns whether the refusal may be random, and not due to a limit. */
  mayBeRandom(): boolean {
    return this.#refusals.refused();
  }

  mayRetry(): boolean {
    if (this.#budget.take()) return true;
    // If the service has never answered, the run ends soon, and its error says why.
    if (this.#hasAnswered && !this.#hasWarned) {
      this.#hasWarned = true;
      this.#observe({
        kind: "warning",
        code: "RETRIES_EXHAUSTED",
        message:
          "more requests to the service fail than are answered, so this run does not repeat all of them",
        hint: "the next runs retry the groups that fail now; look at their errors",
      });
    }
    return false;
  }
}
