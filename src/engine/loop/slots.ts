import type { HeldDecision } from "../lease/keys.ts";

/** The most that wait for a retry without a slot. Fewer than the failures in a row that show an outage. */
const MOST_WAITING = 8;

/** Limits how many work at the same time. Who came first gets the next free slot. */
export class Slots {
  readonly #most: () => number;
  readonly #queue = new Set<(isFree: boolean) => void>();
  #used = 0;
  #waiting = 0;
  #isClosed = false;

  /** `most` is asked again whenever somebody leaves. */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** Whether nobody works, and nobody waits for a slot. */
  get isIdle(): boolean {
    return this.#used + this.#waiting + this.#queue.size === 0;
  }

  /** Resolves to a slot; to undefined once `close` was called, or the decision is outdated meanwhile. */
  async enter(decision: HeldDecision): Promise<Slot | undefined> {
    if (this.#isClosed || decision.isOutdated) return undefined;
    if (this.#used < this.#most() && this.#queue.size === 0) this.#used++;
    else if (!(await this.#isAdmitted(decision))) return undefined;
    return this.#slot();
  }

  #isAdmitted(decision: HeldDecision): Promise<boolean> {
    return new Promise((resolve) => {
      this.#queue.add(resolve);
      decision.onOutdated = () => {
        if (this.#queue.delete(resolve)) resolve(false);
      };
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const resolve of this.#queue) resolve(false);
    this.#queue.clear();
  }

  #slot(): Slot {
    let isMine = true;
    const leave = (): void => {
      if (!isMine) return;
      isMine = false;
      this.#used--;
      this.#admit();
    };
    return {
      leave,
      whileWaiting: async (wait) => {
        if (isMine && this.#waiting < MOST_WAITING) {
          this.#waiting++;
          leave();
          await wait();
          this.#waiting--;
        } else await wait();
      },
    };
  }

  #admit(): void {
    for (const resolve of this.#queue) {
      if (this.#used >= this.#most()) return;
      this.#queue.delete(resolve);
      this.#used++;
      resolve(true);
    }
  }
}

interface Slot {
  /** Can be called again. */
  leave(): void;
  /** Runs `wait`. Gives the slot up for good before, unless too many wait without a slot. */
  whileWaiting(wait: () => Promise<void>): Promise<void>;
}
