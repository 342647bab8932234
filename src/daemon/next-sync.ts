import { waitBeforeReconnect } from "../core/failure/backoff.ts";
import { tokenBucket } from "../core/limits/rate-limit.ts";
import { WakeableSleep } from "../engine/serving/wakeable-sleep.ts";
import type { Clock } from "../ports/clock.ts";

/** The least time between two full syncs that notices ask for, in milliseconds, unless the last sync took longer. */
const LEAST_PAUSE = 1_000;
/**
 * How many full syncs notices may ask for: notices can come without end, because any role of a PostgreSQL database can notify
 * the channel. The schedule doesn't wait for this.
 */
const SYNCS_FOR_NOTICES = { rate: { count: 1, perMs: 30_000 }, burst: 5 };

/** Decides when the next full sync begins: until then single tenants are served. */
export class NextSync {
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  readonly #onDue: () => void;
  readonly #pause: WakeableSleep;
  #limiter = tokenBucket(SYNCS_FOR_NOTICES);
  #due = new AbortController();
  #isRunOver = false;
  #isWanted = false;
  /** On the monotonic clock: syncs that follow each other without a pause would leave no time to others. */
  #earliest = Number.NEGATIVE_INFINITY;
  /** Ends the wait for the sync that was wanted last. */
  #waiting = new AbortController();

  /** `onDue` is called once a sync is due that somebody wanted. It begins one if no session goes on. */
  constructor(clock: Clock, stop: AbortSignal, onDue: () => void) {
    this.#clock = clock;
    this.#stop = stop;
    this.#onDue = onDue;
    this.#pause = new WakeableSleep(clock);
  }

  /** A sync begins. The signal aborts when the next one is due, which is never before `runEnded`. */
  begins(): AbortSignal {
    this.#waiting.abort();
    this.#isRunOver = false;
    this.#isWanted = false;
    this.#due = new AbortController();
    return this.#due.signal;
  }

  runEnded(durationMs: number): void {
    this.#isRunOver = true;
    this.#earliest = this.#clock.monotonic() + Math.max(LEAST_PAUSE, durationMs);
    if (this.#isWanted) this.#beginSoon();
  }

  /** The schedule asks for a sync. Returns false if one is still under way. */
  due(): boolean {
    if (!this.#isRunOver) return false;
    this.#due.abort();
    this.#pause.wake();
    return true;
  }

  /**
   * Something has changed that only a full sync finds: one begins soon, and not two for the same change. A sync that is under
   * way may have read the source before the change, so another one follows it. `isIdle`: no session goes on.
   */
  want(isIdle: boolean): void {
    if (this.#isWanted || this.#stop.aborted) return;
    this.#isWanted = true;
    if (isIdle || this.#isRunOver) this.#beginSoon();
  }

  /** Pauses after a failure. Ends early at a scheduled time, if somebody asks to try again, or if the process is told to stop. */
  pause(ms: number): Promise<void> {
    return this.#pause.sleep(ms, this.#stop);
  }

  /** The config is another one: what made a sync fail may be repaired, and so may what asked for many. */
  tryAgain(): void {
    this.#limiter = tokenBucket(SYNCS_FOR_NOTICES);
    if (this.#isWanted && this.#isRunOver) this.#beginSoon();
    this.#pause.wake();
  }

  /** Has the sync begin that is wanted, once the pause after the last one is over and the limiter lets it pass. */
  #beginSoon(): void {
    if (this.#stop.aborted) return;
    const now = this.#clock.monotonic();
    const limitedMs = this.#limiter(now);
    const ms = Math.max(0, this.#earliest - now, limitedMs);
    this.#waiting.abort();
    const waiting = new AbortController();
    this.#waiting = waiting;
    this.#stop.addEventListener("abort", () => waiting.abort(), { once: true, signal: waiting.signal });
    void this.#clock.sleep(ms, waiting.signal).then(() => {
      if (waiting.signal.aborted) return;
      waiting.abort();
      // The limiter counts a sync when it lets it pass, and it has not yet: ask it again.
      if (limitedMs > 0) return this.#beginSoon();
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
