/** A limit lets something pass within this time, in milliseconds; a service that doesn't is down, whatever it calls it. */
const LONGEST = 10 * 60_000;
/** A wait that ends so soon after it is worth its while. */
const SOON_AFTER = 60_000;

/** How a call was refused for now. Times in milliseconds, of one clock. */
export interface Deferral {
  readonly group: string;
  readonly now: number;
  /** The same moment on the wall's clock. */
  readonly at: Date;
  /** For how long the service asks to be left alone; 0 where it doesn't say. */
  readonly askedMs: number;
  /** Something has passed in this run: a long wait may be for the next window of a limit. */
  readonly hasAnswered: boolean;
}

/** A time in which a service refuses for now whatever it is asked. */
export class Standstill {
  #since: number | undefined;
  #group: string | undefined;
  #isGeneral = false;
  #isLong = false;
  /** No call is made until then, for any group. */
  #askedUntil = 0;
  #askedMs = 0;
  #askAgainAt: Date | undefined;

  /** Something has passed. */
  end(): void {
    this.#since = undefined;
    this.#isGeneral = false;
    this.#isLong = false;
    this.#askedUntil = 0;
  }

  /** A call for this group was refused. */
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
    // The first wait after an answer is granted. One that was in vain, or began without any, gets no second that long.
    const isInVain = hasWaited || !hasAnswered;
    this.#isLong =
      now - this.#since > LONGEST || (isInVain && this.#askedUntil - this.#since > LONGEST + SOON_AFTER);
  }

  /** It has lasted longer than a limit does, or would have by the end of the next wait. */
  get isLong(): boolean {
    return this.#isLong;
  }

  /** More groups than one have met it, or none can be tried until it has been too long. */
  get isGeneral(): boolean {
    return this.#isGeneral || this.#askedMs > LONGEST;
  }

  /** When the service wants to be asked again, if a run doesn't wait for that long. */
  get askAgainAt(): Date | undefined {
    return this.#isLong && this.#askedMs > LONGEST ? this.#askAgainAt : undefined;
  }
}
