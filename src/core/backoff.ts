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

/**
 * Whether the next try is due. One further away than the longest wait was planned by a clock that ran ahead.
 */
export const isDue = (retryAt: Date, now: Date): boolean =>
  retryAt <= now || retryAt.getTime() - now.getTime() > LONGEST_WAIT;

/** How often one request is made at most, the first time included: of those that fail by chance nearly all succeed. */
export const MAX_ATTEMPTS = 8;
/** How long one request is tried at most, in milliseconds: calls and the waits between them, but no waiting for a slot. */
export const LONGEST_TRY = 60_000;

/** How long to wait before attempt `attempt` (2, 3, …) of one request, in milliseconds, jittered. */
export const waitBeforeAttempt = (attempt: number, random: () => number): number =>
  Math.min(8_000, 125 * 2 ** attempt) * (0.5 + random() / 2);
