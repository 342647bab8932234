import type { Clock } from "../../ports/clock.ts";

/** The first attempts of the ways. While they last, no full sync begins. */
export class Beginning {
  readonly #attempts: Promise<void>[] = [];
  #isOver = false;

  /** Whether a full sync may have begun already, so that its snapshot may lack what a way has not yet noticed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** An attempt to wait for. Call the result when it has ended, well or not. */
  attempt(): () => void {
    let end = (): void => {};
    this.#attempts.push(
      new Promise((resolve) => {
        end = resolve;
      }),
    );
    return () => end();
  }

  /** Resolves once all attempts have ended, and after `ms` at the latest. */
  async over(ms: number, clock: Clock): Promise<void> {
    const timer = new AbortController();
    await Promise.race([Promise.all(this.#attempts), clock.sleep(ms, timer.signal)]);
    timer.abort();
    this.#isOver = true;
  }
}
