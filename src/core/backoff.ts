const MINUTE = 60_000;
const LONGEST_WAIT = 6 * 60 * MINUTE;

/**
 * How long a group that has failed `failures` times in a row is left alone, in milliseconds.
 * The first two failures cost nothing: the next sync tries again. From then on the wait doubles.
 */
export function waitAfterFailures(failures: number): number {
  if (failures <= 2) return 0;
  return Math.min(LONGEST_WAIT, MINUTE * 2 ** (failures - 3));
}

/** How often one request is made at most, the first time included. */
export const MAX_ATTEMPTS = 5;

/** How long to wait before attempt `attempt` (2, 3, …) of one request, in milliseconds, jittered. */
export const waitBeforeAttempt = (attempt: number, random: () => number): number =>
  Math.min(30_000, 125 * 2 ** attempt) * (0.5 + random() / 2);
