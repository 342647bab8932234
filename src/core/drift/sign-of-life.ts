/** How long the service may have answered nobody before a daemon asks for a sign of life, in milliseconds. */
export const LONGEST_SILENCE = 3_600_000;

/** After which pauses a request for a sign of life that has failed is repeated, in milliseconds. */
export const REPEATED_AFTER: readonly number[] = [60_000, 60_000];

interface KnownAnswers {
  /** Whether the service has ever answered with a group. */
  readonly isKnown: boolean;
  /** The last good answer; null if an older groupsync had it, and didn't record it. */
  readonly answeredAt: Date | null;
}

/**
 * How long it is until a daemon asks for a sign of life, in milliseconds; 0 if it asks now. `unclearAt`: when it last got an
 * answer that shows nothing; null if it got none.
 */
export function msUntilAsked(
  { isKnown, answeredAt }: KnownAnswers,
  unclearAt: Date | null,
  now: Date,
): number {
  if (!isKnown) return Number.POSITIVE_INFINITY;
  return Math.max(msUntilSilent(answeredAt, now), msUntilSilent(unclearAt, now));
}

/** A time in the future was noted before the clock was set back: nobody knows how long ago it was. */
const msUntilSilent = (since: Date | null, now: Date): number =>
  since === null || since > now ? 0 : Math.max(0, since.getTime() + LONGEST_SILENCE - now.getTime());
