import { waitBeforeReconnect } from "../core/failure/backoff.ts";
import type { Clock } from "../ports/clock.ts";

/** Decides when the next full sync begins: until then single tenants are served. */
export class NextSync {
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  readonly #onDue: () => void;
  #due = new AbortController();
  #isRunOver = false;
  #isWanted = false;
  readonly #pace = new SyncPace();
  /** Ends the wait for the sync that was wanted last. */
  #waiting = new AbortController();
  #endPause = (): void => {};

  /** `onDue` is called once a sync is due that somebody wanted. It begins one if no session goes on. */
  constructor(clock: Clock, stop: AbortSignal, onDue: () => void) {
    this.#clock = clock;
    this.#stop = stop;
    this.#onDue = onDue;
  }

  /** A sync begins. The signal aborts when the next one is due, which is never before `runEnded`. */
  begins(): AbortSignal {
    this.#pace.begins(this.#isWanted);
    this.#waiting.abort();
    this.#isRunOver = false;
    this.#isWanted = false;
    this.#due = new AbortController();
    return this.#due.signal;
  }

  runEnded(durationMs: number): void {
    this.#isRunOver = true;
    this.#pace.ended(this.#clock.monotonic(), durationMs);
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
    this.#pace.wanted(this.#clock.monotonic());
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

  /** The config is another one: what made a sync fail may be mended, and so may what asked for many. */
  tryAgain(): void {
    this.#pace.calm();
    if (this.#isWanted && this.#isRunOver) this.#soon();
    this.#endPause();
  }

  #soon(): void {
    if (this.#stop.aborted) return;
    const ms = Math.max(0, this.#pace.earliest - this.#clock.monotonic());
    this.#waiting.abort();
    const waiting = new AbortController();
    this.#waiting = waiting;
    this.#stop.addEventListener("abort", () => waiting.abort(), { once: true, signal: waiting.signal });
    void this.#clock.sleep(ms, waiting.signal).then(() => {
      if (waiting.signal.aborted) return;
      waiting.abort();
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

/** The least time between two full syncs that notices ask for, in milliseconds. */
const LEAST_PAUSE = 1_000;
/** The longest time, unless a sync itself takes longer. After as long a time without a notice the pauses are short again. */
const LONGEST_PAUSE = 30_000;

/**
 * Decides how soon a full sync may begin that a notice asks for. Notices can ask without end: any role of a PostgreSQL database
 * can notify the channel. So the pauses double while they go on. The schedule doesn't wait for this.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class SyncPace {
  #doublings = 0;
  /** When a notice has last asked, or the sync has ended that it had asked for. */
  #quietSince = Number.NEGATIVE_INFINITY;
  #isWanted = false;
  #endedAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;

  /** A notice asks for a sync, whether another one has asked for it already or not. */
  wanted(now: number): void {
    if (now - this.#quietSince >= LONGEST_PAUSE) this.#doublings = 0;
    this.#quietSince = now;
  }

  /** `isWanted`: a notice has asked for the sync. */
  begins(isWanted: boolean): void {
    this.#isWanted = isWanted;
    if (isWanted) this.#doublings++;
  }

  /** What asked without end may be mended. */
  calm(): void {
    this.#doublings = 0;
  }

  ended(now: number, tookMs: number): void {
    if (this.#isWanted) this.#quietSince = now;
    this.#endedAt = now;
    this.#tookMs = tookMs;
  }

  /** When the next sync may begin. Syncs that follow each other without a pause would leave no time to others. */
  get earliest(): number {
    const shortest = Math.max(LEAST_PAUSE, this.#tookMs);
    return this.#endedAt + Math.max(shortest, Math.min(LONGEST_PAUSE, shortest * 2 ** this.#doublings));
  }
}
