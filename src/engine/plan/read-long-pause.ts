import { type GoodSync, longPause, SHORTEST_LONG_PAUSE_MS } from "../../core/plan/long-pause.ts";
import type { RecordedRun, RunReads } from "../../ports/ledger/runs.ts";

/** Of a ledger that is synced each minute, these are the runs of a day. */
const MOST_RUNS = 1500;

/** See `longPause`. Reads the whole run history only if there was no sync for some time. */
export async function readLongPause(ledger: RunReads, now: Date): Promise<number | null> {
  const lately = await ledger.history(new Date(now.getTime() - SHORTEST_LONG_PAUSE_MS), MOST_RUNS);
  if (goodSyncs(lately).length > 0) return null;
  return longPause(now, goodSyncs(await ledger.history(new Date(0), MOST_RUNS)));
}

/** A run that read no valid row has not seen which tenants are there. */
const goodSyncs = (runs: readonly RecordedRun[]): GoodSync[] =>
  runs.flatMap(({ command, startedAt, finishedAt, result }) =>
    command === "sync" &&
    finishedAt !== null &&
    result !== null &&
    result.outcome !== "failed" &&
    result.error?.code !== "SOURCE_INCONCLUSIVE"
      ? [{ startedAt, finishedAt }]
      : [],
  );
