/**
 * How many failed requests a run may repeat: one for each that was answered, and `reserve` on top, which is also the
 * most that it can save up. What a service fails now and then is made good; one that fails most of its requests is
 * not asked several times over for each. (Finagle and gRPC keep such budgets.)
 */
export class RetryBudget {
  readonly #reserve: number;
  #left: number;

  constructor(reserve: number) {
    this.#reserve = reserve;
    this.#left = reserve;
  }

  answered(): void {
    this.#left = Math.min(this.#reserve, this.#left + 1);
  }

  /** Whether one more may be repeated, which is taken off then. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }
}
