import type { Clock } from "../ports/clock.ts";

/** A moment by both clocks of a machine. */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

export const instantOf = (clock: Clock): Instant => ({
  monotonic: clock.monotonic(),
  wall: clock.now().getTime(),
});

/**
 * Milliseconds since then, by whichever clock is further on: one stands still while the machine sleeps, the other
 * can be set.
 */
export function ageOf(instant: Instant, clock: Clock): number {
  const now = instantOf(clock);
  return Math.max(now.monotonic - instant.monotonic, now.wall - instant.wall);
}
