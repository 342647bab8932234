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
