/** A limit lets something pass within this time, in milliseconds; a service that doesn't is down, whatever it calls it. */
const LONGEST = 10 * 60_000;

/** A time in which a service refuses for now whatever it is asked. */
export class Standstill {
  #since: number | undefined;
  #until = 0;
  #group: string | undefined;
  #isGeneral = false;

  /** Something has passed. */
  end(): void {
    this.#since = undefined;
    this.#isGeneral = false;
  }

  /** A call for this group was refused. `now` in milliseconds, of one clock. */
  refused(group: string, now: number): void {
    if (this.#since === undefined) {
      this.#since = now;
      this.#group = group;
    }
    this.#until = now;
    this.#isGeneral ||= group !== this.#group;
  }

  /** It has lasted longer than a limit does. */
  get isLong(): boolean {
    return this.#since !== undefined && this.#until - this.#since > LONGEST;
  }

  /** More groups than one have met it. */
  get isGeneral(): boolean {
    return this.#isGeneral;
  }
}
