import { SyncError } from "../../core/errors.ts";

/** How often the server hears of a transaction, in the time after which it would end it. */
const BEATS = 6;

interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * One transaction of a process that may stand still: stopped, or with its machine. The server ends the transaction once
 * it has heard nothing for `idleMs`, because its locks keep the lease from everybody else. While the process moves, `beat`
 * reaches the server often enough, whatever else the process waits for.
 */
export class OpenTransaction {
  readonly #beat: () => Promise<unknown>;
  readonly #idleMs: number;
  readonly #timer: NodeJS.Timeout;
  #underWay = 0;
  #beating: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  /** When the last statement was sent that the server has answered. */
  #heard = now();

  constructor(beat: () => Promise<unknown>, idleMs: number) {
    this.#beat = beat;
    this.#idleMs = idleMs;
    this.#timer = setInterval(() => this.#beatIfIdle(), idleMs / BEATS);
  }

  /** Has a statement wait for a beat under way: drivers take one at a time. Rejects if a beat has failed. */
  async ask<T>(statement: () => Promise<T>): Promise<T> {
    await this.#beating;
    if (this.#failure) throw this.#failure.error;
    return this.#ask(statement);
  }

  /**
   * Throws PAUSED if this process has stood still for so long that the server may end the transaction, and another
   * instance take the lease, before a call to another store is over.
   */
  assertOpen(): void {
    if (ageOf(this.#heard) <= this.#idleMs / 2) return;
    throw new SyncError(
      "PAUSED",
      "this process stood still before the token was written; it asks for its lease again",
    );
  }

  /** Nothing is to be kept open any more. Never rejects. */
  over(): Promise<void> {
    clearInterval(this.#timer);
    return this.#beating;
  }

  #beatIfIdle(): void {
    if (this.#underWay > 0 || this.#failure) return;
    this.#beating = this.#ask(this.#beat).then(
      () => {},
      (error: unknown) => {
        this.#failure = { error };
      },
    );
  }

  async #ask<T>(statement: () => Promise<T>): Promise<T> {
    const sent = now();
    this.#underWay++;
    try {
      const answer = await statement();
      this.#heard = sent;
      return answer;
    } finally {
      this.#underWay--;
    }
  }
}

const now = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

/** By whichever clock is further on: one stands still while the machine sleeps, the other can be set. */
const ageOf = ({ monotonic, wall }: Moment): number =>
  Math.max(performance.now() - monotonic, Date.now() - wall);
