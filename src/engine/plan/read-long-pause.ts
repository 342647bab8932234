import { isClockDifference } from "../../core/failure/sync-error.ts";
import {
  type GoodSync,
  longPause,
  type ReadHistory,
  SHORTEST_LONG_PAUSE_MS,
} from "../../core/plan/read-history.ts";
import type { RecordedRun, RunReads } from "../../ports/ledger/scope.ts";

/** The syncs of a month, one each five minutes: pauses that come each week are usual. */
const MOST_SYNCS = 10_000;

/**
 * See `longPause`. Reads the whole run history only if there was no sync for some time. A good read counts as a good sync,
 * even if the service failed after it.
 */
export async function readLongPause(
  ledger: RunReads,
  { healthyAt }: Pick<ReadHistory, "healthyAt">,
  now: Date,
): Promise<number | null> {
  const shortAgo = new Date(now.getTime() - SHORTEST_LONG_PAUSE_MS);
  if (healthyAt !== null && healthyAt > shortAgo) return null;
  if (goodSyncs(await ledger.history(shortAgo, MOST_SYNCS, { command: "sync" })).length > 0) return null;
  const syncs = goodSyncs(await ledger.history(new Date(0), MOST_SYNCS, { command: "sync" }));
  const [last] = syncs;
  const isAfterAll = healthyAt !== null && last !== undefined && healthyAt > last.finishedAt;
  return longPause(now, isAfterAll ? [{ startedAt: healthyAt, finishedAt: healthyAt }, ...syncs] : syncs);
}

/** A run that read no valid row, or whose clock can't be trusted, has not recorded which tenants are there, and when. */
const goodSyncs = (runs: readonly RecordedRun[]): GoodSync[] =>
  runs.flatMap(({ startedAt, finishedAt, result }) =>
    finishedAt !== null &&
    result !== null &&
    result.outcome !== "failed" &&
    result.error?.code !== "SOURCE_INCONCLUSIVE" &&
    !(result.error && isClockDifference(result.error))
      ? [{ startedAt, finishedAt }]
      : [],
  );
