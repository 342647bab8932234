import type { Clock } from "../../src/ports/clock.ts";

export interface SetClock extends Clock {
  /** Milliseconds that have passed since the test began. */
  elapsed: number;
}

/** A clock that moves only when a test sets it. */
export function aClock(): SetClock {
  const start = Date.UTC(2026, 2, 1, 12);
  return {
    elapsed: 0,
    now() {
      return new Date(start + this.elapsed);
    },
    monotonic() {
      return this.elapsed;
    },
    sleep: async () => {},
    random: () => 0.5,
  };
}
