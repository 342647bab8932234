import { FailureWindow } from "./failure-window.ts";

/** This many refusals in a row come from a limit. */
const IN_A_ROW = 6;
/** This many refusals among the last `OF_THE_LAST` calls come from a limit, too. */
const REFUSED = 16;
const OF_THE_LAST = 50;
/** If slowing down didn't end the refusals this many times, they don't come from a limit. */
const MOST_IN_VAIN = 3;

/**
 * Tells random refusals from the refusals of a limit if the service doesn't say why it refuses. Random refusals are
 * scattered among the answers, and go on whatever the rate is. A limit refuses several calls in a row, or many of the
 * last ones, and none once calls keep to its rate.
 */
export class RandomRefusalDetector {
  readonly #recent = new FailureWindow(OF_THE_LAST);
  #inARow = 0;
  #answeredSince = 0;
  /** The last refusal was attributed to a limit. */
  #cameFromLimit = false;
  /** The refusals ended after one was attributed to a limit. So a limit exists, and it causes the next refusal too. */
  #hasLimit = false;
  #inVain = 0;

  /** A call was answered. */
  answered(): void {
    this.#inARow = 0;
    this.#recent.add(false);
    this.#answeredSince++;
    if (this.#cameFromLimit && this.#answeredSince >= OF_THE_LAST) {
      this.#hasLimit = true;
      this.#inVain = 0;
    }
  }

  /** A call was refused. Returns whether that may be random. */
  refused(): boolean {
    this.#recent.add(true);
    this.#answeredSince = 0;
    // Calls that are in flight together are refused together: count them as one refusal.
    if (++this.#inARow === 1 && this.#hasLimit) this.#hasLimit = ++this.#inVain <= MOST_IN_VAIN;
    this.#cameFromLimit = this.#hasLimit || this.#inARow >= IN_A_ROW || this.#recent.failed >= REFUSED;
    return !this.#cameFromLimit;
  }
}
