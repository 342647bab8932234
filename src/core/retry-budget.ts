/**
 * How many failed requests a run may repeat: one for each that was answered, and `reserve` on top, which is also the
 * most that it can save up. What a service fails now and then is made good; one that fails most of its requests is
 * not asked several times over for each. (Finagle and gRPC keep such budgets.)
 *
 * Of the reserve there is no more than `unanswered` until the first answer: a service that is down is told by a few
 * calls.
 */
export class RetryBudget {
  readonly #reserve: number;
  #withFirstAnswer: number;
  #left: number;

  constructor({ reserve, unanswered }: { readonly reserve: number; readonly unanswered: number }) {
    this.#reserve = reserve;
    this.#left = unanswered;
    this.#withFirstAnswer = reserve - unanswered;
  }

  answered(): void {
    this.#left = Math.min(this.#reserve, this.#left + this.#withFirstAnswer + 1);
    this.#withFirstAnswer = 0;
  }

  /** Whether one more may be repeated, which is taken off then. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }
}
