/** What decides how many groups a sync asks for again. */
export interface RefreshState {
  readonly now: Date;
  /** When the syncs of all tenants before this one began, newest first. */
  readonly earlier: readonly Date[];
  /** Each group is asked for within this time (`service.refresh`). */
  readonly everyMs: number;
  /** Groups that may be asked for. */
  readonly groups: number;
  /** Those of them that were not asked for within `everyMs`. */
  readonly late: number;
}

/** All groups are asked for in this part of `everyMs`, because a sync may fail or come late. */
const PART_OF_TIME = 0.9;

/** In a sync after a longer pause, no more groups are asked for than are due in this part of `everyMs`. */
const LONGEST_PART = 1 / 7;

/**
 * How many groups this sync asks for: as many of all groups as the time since the last sync is of the time for all of them.
 * If some are late, twice as many, and never all at once: after an outage, or when the key is new, every group may be late.
 */
export function refreshShare({ now, earlier, everyMs, groups, late }: RefreshState): number {
  const interval = Math.min(
    everyMs,
    now.getTime() - (earlier[0] ?? now).getTime(),
    Math.max(syncIntervalMs(now, earlier), everyMs * LONGEST_PART),
  );
  // Count by a clock that all syncs share. A share that was rounded up would ask for a few groups far too often.
  const askedUntil = (time: number): number => Math.floor((time / (everyMs * PART_OF_TIME)) * groups);
  const share = askedUntil(now.getTime()) - askedUntil(now.getTime() - interval);
  return Math.min(groups, late > 0 ? 2 * share : share);
}

/** The time between two syncs: the shorter of the last two intervals, because one of them may be an outage. 0 if unknown. */
export function syncIntervalMs(now: Date, earlier: readonly Date[]): number {
  const times = [now, ...earlier.slice(0, 2)].map((time) => time.getTime());
  const intervals = times.slice(1).map((time, index) => Math.max(0, (times[index] ?? time) - time));
  return intervals.length === 0 ? 0 : Math.min(...intervals);
}
