/** Milliseconds. A service that lets nothing pass for this long is down, even if it answers as if a limit were reached. */
const LONGEST = 10 * 60_000;
/** Milliseconds. The pause that the service asks for may end this long after `LONGEST`. */
const SOON_AFTER = 60_000;

/** A call that the service refused for now. Times in milliseconds, of one clock. */
export interface Deferral {
  readonly group: string;
  readonly now: number;
  /** `now` on the wall clock. */
  readonly at: Date;
  /** The pause that the service asks for; 0 if it names none. */
  readonly askedMs: number;
  /** A call has passed in this run. Then a long pause may only mean that the window of a limit is used up. */
  readonly hasAnswered: boolean;
}

/** Detects that the service refuses every call, for longer than a limit would. */
export class OutageDetector {
  #since: number | undefined;
  #group: string | undefined;
  #isGeneral = false;
  #isLong = false;
  /** The end of the pause that the service asked for. */
  #askedUntil = 0;
  #askedMs = 0;
  #askAgainAt: Date | undefined;

  /** A call passed: the outage is over. */
  end(): void {
    this.#since = undefined;
    this.#isGeneral = false;
    this.#isLong = false;
    this.#askedUntil = 0;
  }

  /** The service refused a call. */
  refused({ group, now, at, askedMs, hasAnswered }: Deferral): void {
    const hasWaited = this.#since !== undefined && now >= this.#askedUntil;
    if (this.#since === undefined) {
      this.#since = now;
      this.#group = group;
    }
    this.#isGeneral ||= group !== this.#group;
    this.#askedMs = askedMs;
    this.#askAgainAt = new Date(at.getTime() + askedMs);
    this.#askedUntil = Math.max(this.#askedUntil, now + askedMs);
    // Grant one long pause after an answer. If calls are still refused after it, or none was ever answered, don't wait
    // that long again.
    const isInVain = hasWaited || !hasAnswered;
    this.#isLong =
      now - this.#since > LONGEST || (isInVain && this.#askedUntil - this.#since > LONGEST + SOON_AFTER);
  }

  /** The outage has lasted longer than a limit would, or will have by the end of the next pause. */
  get isLong(): boolean {
    return this.#isLong;
  }

  /** Calls for several groups were refused, or the service asks for a pause longer than `LONGEST`. */
  get isGeneral(): boolean {
    return this.#isGeneral || this.#askedMs > LONGEST;
  }

  /** When the service asks to be called again, if that is too far away for this run. */
  get askAgainAt(): Date | undefined {
    return this.#isLong && this.#askedMs > LONGEST ? this.#askAgainAt : undefined;
  }
}
