/**
 * How many failed requests a run may repeat: one for each answered request, and `reserve` more. At most `reserve` can be
 * saved up. If a request fails now and then, it is repeated; if most requests fail, retries must not multiply the load.
 * (Finagle and gRPC have such budgets.)
 *
 * Until the first answer, only `unanswered` of the reserve may be used: a few calls show whether the service is down.
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

  /** Takes one retry from the budget. Returns false if none is left. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }
}
