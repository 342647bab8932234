import type { Clock } from "../../ports/clock.ts";

/** The same moment by both clocks of a machine, in milliseconds. */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

export const readClocks = (clock: Clock): ClockReading => ({
  monotonic: clock.monotonic(),
  wall: clock.now().getTime(),
});

/**
 * Milliseconds since a reading, by the clock that has advanced further. The monotonic clock may stop while the machine sleeps,
 * and the wall clock can be set back.
 */
export function msSince(then: ClockReading, clock: Clock): number {
  const now = readClocks(clock);
  return Math.max(now.monotonic - then.monotonic, now.wall - then.wall);
}
