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
 * How long it is until a daemon asks for a sign of life, in milliseconds; 0 if it asks now. An answer in the future was recorded
 * before the clock was set back: nobody knows how old it is.
 */
export function msUntilAsked({ isKnown, answeredAt }: KnownAnswers, now: Date): number {
  if (!isKnown) return Number.POSITIVE_INFINITY;
  if (answeredAt === null || answeredAt > now) return 0;
  return Math.max(0, answeredAt.getTime() + LONGEST_SILENCE - now.getTime());
}
