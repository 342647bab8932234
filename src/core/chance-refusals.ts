import { RecentCalls } from "./recent-calls.ts";

/** This many refusals in a row don't come by chance, */
const IN_A_ROW = 6;
/** nor do this many among the last calls. */
const REFUSED = 16;
const OF_THE_LAST = 50;
/** After this many lessons that didn't end the refusals, there is no limit. */
const MOST_IN_VAIN = 3;

/**
 * Tells refusals by chance from the refusals of a limit, where the service doesn't say which they are. Refusals by
 * chance are scattered among the answers, and go on whatever the rate is. A limit refuses several calls in a row, or
 * many of them, and no call once its rate is kept to.
 */
export class ChanceRefusals {
  readonly #recent = new RecentCalls(OF_THE_LAST);
  #inARow = 0;
  #answeredSince = 0;
  /** The last refusal was put down to a limit. */
  #hasTaught = false;
  /** The refusals ended after that: there is a limit, and the next refusal is the limit's. */
  #isLimit = false;
  #inVain = 0;

  /** A call was answered. */
  answered(): void {
    this.#inARow = 0;
    this.#recent.add(false);
    this.#answeredSince++;
    if (this.#hasTaught && this.#answeredSince >= OF_THE_LAST) {
      this.#isLimit = true;
      this.#inVain = 0;
    }
  }

  /** A call was refused: whether that may be by chance. */
  refused(): boolean {
    this.#recent.add(true);
    this.#answeredSince = 0;
    // Calls that were under way together are refused together, and count once.
    if (++this.#inARow === 1 && this.#isLimit) this.#isLimit = ++this.#inVain <= MOST_IN_VAIN;
    this.#hasTaught = this.#isLimit || this.#inARow >= IN_A_ROW || this.#recent.failed >= REFUSED;
    return !this.#hasTaught;
  }
}
