import type { Clock } from "../../ports/clock.ts";

/** A sleep that somebody can end. To wake nobody ends the next sleep at once. */
export class WakeableSleep {
  readonly #clock: Clock;
  #isWoken = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Sleeps for `ms`, until `wake` or until the signal aborts, whichever is first. Never rejects. */
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && ms > 0) {
      // Not AbortSignal.any: Node.js 20 keeps each of its signals for as long as the oldest of their sources lives.
      const woken = new AbortController();
      const wake = (): void => woken.abort();
      this.#wake = wake;
      signal.addEventListener("abort", wake);
      if (!signal.aborted) await this.#clock.sleep(ms, woken.signal);
      signal.removeEventListener("abort", wake);
      this.#wake = undefined;
    }
    this.#isWoken = false;
  }
}
