import { waitBeforeReconnect } from "../core/failure/backoff.ts";
import type { Clock } from "../ports/clock.ts";

/** The least time between two full syncs that notices lead to, in milliseconds. */
const LEAST_PAUSE = 1_000;

/** Decides when the next full sync begins: until then single tenants are served. */
export class NextSync {
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  readonly #onDue: () => void;
  #due = new AbortController();
  #isRunOver = false;
  #isWanted = false;
  /** When the last sync ended, on the monotonic clock, and how long it took, both in milliseconds. */
  #lastEnd = Number.NEGATIVE_INFINITY;
  #lastMs = 0;
  #endPause = (): void => {};

  /** `onDue` is called once a sync is due that somebody wanted. It begins one if no session goes on. */
  constructor(clock: Clock, stop: AbortSignal, onDue: () => void) {
    this.#clock = clock;
    this.#stop = stop;
    this.#onDue = onDue;
  }

  /** A sync begins. The signal aborts when the next one is due, which is never before `runEnded`. */
  begins(): AbortSignal {
    this.#isRunOver = false;
    this.#isWanted = false;
    this.#due = new AbortController();
    return this.#due.signal;
  }

  runEnded(durationMs: number): void {
    this.#isRunOver = true;
    this.#lastEnd = this.#clock.monotonic();
    this.#lastMs = durationMs;
    if (this.#isWanted) this.#soon();
  }

  /** The schedule asks for a sync. Returns false if one is still under way. */
  tick(): boolean {
    if (!this.#isRunOver) return false;
    this.#due.abort();
    this.#endPause();
    return true;
  }

  /**
   * Something has changed that only a full sync finds: one begins soon, and not two for the same change. A sync that is under
   * way may have read the source before the change, so another one follows it. `isIdle`: no session goes on.
   */
  want(isIdle: boolean): void {
    if (this.#isWanted || this.#stop.aborted) return;
    this.#isWanted = true;
    if (isIdle || this.#isRunOver) this.#soon();
  }

  /** Pauses after a failure. Ends early at a tick, if somebody asks to try again, or if the process is told to stop. */
  async pause(ms: number): Promise<void> {
    const over = new AbortController();
    const end = (): void => over.abort();
    this.#endPause = end;
    this.#stop.addEventListener("abort", end);
    if (!this.#stop.aborted) await this.#clock.sleep(ms, over.signal);
    this.#stop.removeEventListener("abort", end);
  }

  /** What made a sync fail may be mended. */
  tryAgain(): void {
    this.#endPause();
  }

  #soon(): void {
    // Syncs that follow each other without a pause would leave no time to others.
    const earliest = this.#lastEnd + Math.max(LEAST_PAUSE, this.#lastMs);
    const ms = Math.max(0, earliest - this.#clock.monotonic());
    void this.#clock.sleep(ms, this.#stop).then(() => {
      if (!this.#isWanted || this.#stop.aborted) return;
      if (this.#isRunOver) this.#due.abort();
      this.#onDue();
    });
  }
}

/** The longest pause while a database is away, in milliseconds: new tenants wait for its return. */
const LONGEST_PAUSE_WITHOUT_DATABASE = 10_000;

/** How long to wait before the next session after `failures` failures in a row, in milliseconds. */
export function pauseAfter(failures: number, isDatabaseAway: boolean, clock: Clock): number {
  const ms = waitBeforeReconnect(failures, () => clock.random());
  return isDatabaseAway ? Math.min(LONGEST_PAUSE_WITHOUT_DATABASE, ms) : ms;
}
