import { setMaxListeners } from "node:events";
import type { Clock } from "../../src/ports/clock.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

const DAY = 86_400_000;
/** No test sleeps for so long. A sleeper with a later time waits for something that never comes. */
const END_OF_TIME = 400 * DAY;

/**
 * Time that stops while any code runs, and jumps to the next sleeper once all code is waiting.
 * Deterministic as long as nothing waits for real IO.
 */
export class VirtualTime {
  #elapsed = 0;
  #sleepers: Sleeper[] = [];
  #ticking = false;

  /** Milliseconds since the start of the world. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** The time of a wall clock that was never set, for example a database's. */
  now(): Date {
    return new Date(Date.parse("2026-03-01T00:00:00Z") + this.#elapsed);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        signal?.removeEventListener("abort", wake);
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      };
      const sleeper: Sleeper = { until: this.#elapsed + Math.max(0, ms), wake };
      const later = this.#sleepers.findIndex((other) => other.until > sleeper.until);
      this.#sleepers.splice(later === -1 ? this.#sleepers.length : later, 0, sleeper);
      if (signal) setMaxListeners(0, signal);
      signal?.addEventListener("abort", wake);
      this.#tickWhenIdle();
    });
  }

  /** A macrotask runs only after all code that needn't wait has run. */
  #tickWhenIdle(): void {
    if (this.#ticking || this.#sleepers.length === 0) return;
    this.#ticking = true;
    setImmediate(() => {
      this.#ticking = false;
      const [next] = this.#sleepers;
      if (next === undefined) return;
      if (next.until > END_OF_TIME) throw new Error("everybody waits for something that never comes");
      this.#elapsed = next.until;
      next.wake();
      this.#tickWhenIdle();
    });
  }
}

/** The clock of one machine. Its wall time can be set, or run on while the machine sleeps. */
export class VirtualClock implements Clock {
  readonly #time: VirtualTime;
  #offset = 0;
  #seed: number;

  constructor(time: VirtualTime, seed = 1) {
    this.#time = time;
    this.#seed = seed;
  }

  /** Moves the wall time by `ms`, forward or back; the monotonic time stays. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  now(): Date {
    return new Date(this.#time.now().getTime() + this.#offset);
  }

  monotonic(): number {
    return this.#time.elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#time.sleep(ms, signal);
  }

  /** Mulberry32: the same seed gives the same run. */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
}
