import { VirtualClock, type VirtualTime } from "../fakes/virtual-time.ts";

interface Pause {
  readonly from: number;
  readonly to: number;
}

/** The clock of one process, which can be paused. */
export class ProcessClock extends VirtualClock {
  readonly #time: VirtualTime;
  /** Pauses in which the whole machine slept, and its monotonic clock paused too. */
  readonly #asleep: Pause[] = [];
  #goesOnAt = 0;

  constructor(time: VirtualTime, seed: number) {
    super(time, seed);
    this.#time = time;
  }

  get isPaused(): boolean {
    return this.#goesOnAt > this.#time.elapsed;
  }

  /** Pauses the process for `ms` from now on. */
  pause(ms: number, isAsleep: boolean): void {
    const from = this.#time.elapsed;
    this.#goesOnAt = Math.max(this.#goesOnAt, from + ms);
    if (isAsleep) this.#asleep.push({ from, to: from + ms });
  }

  async untilItGoesOn(): Promise<void> {
    while (this.isPaused) await this.#time.sleep(this.#goesOnAt - this.#time.elapsed);
  }

  override monotonic(): number {
    const { elapsed } = this.#time;
    return this.#asleep.reduce(
      (time, { from, to }) => time - Math.max(0, Math.min(elapsed, to) - from),
      elapsed,
    );
  }

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // At least 1 ms, like a timer: a shorter time would never pass on this clock.
    await super.sleep(Math.max(1, Math.ceil(ms)), signal);
    if (this.isPaused) await this.untilItGoesOn();
  }
}
