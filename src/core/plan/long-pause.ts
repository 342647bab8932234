/** When a sync of all tenants ran that reached its end. */
export interface GoodSync {
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** A shorter pause is never a long one. */
export const SHORTEST_LONG_PAUSE_MS = 3_600_000;

/** With fewer syncs than this, nobody knows how long a pause between two of them usually is. */
const FEWEST_SYNCS = 10;

/**
 * How long ago the last good sync was, in milliseconds, if that is more than twice as long as any earlier pause; otherwise
 * null. Either groupsync did not run, or this ledger comes from a backup. Tenants that are missing may have been back in
 * the meantime, and the ledger would not know. `earlier`: the good syncs before `now`, newest first.
 */
export function longPause(now: Date, earlier: readonly GoodSync[]): number | null {
  if (earlier.length < FEWEST_SYNCS) return null;
  const starts = [now, ...earlier.map(({ startedAt }) => startedAt)];
  const [pause = 0, ...usual] = earlier.map(
    ({ finishedAt }, index) => (starts[index] ?? now).getTime() - finishedAt.getTime(),
  );
  return pause >= SHORTEST_LONG_PAUSE_MS && pause > 2 * Math.max(...usual) ? pause : null;
}
