import { refreshShare } from "../../core/drift/refresh-share.ts";
import type { RefreshReads } from "../../ports/ledger/refresh.ts";
import type { RunReads } from "../../ports/ledger/runs.ts";

/** The `service.refresh` of the config. */
export interface RefreshPolicy {
  /** Each group is asked for again within this time; null: only if the operator asks for that. */
  readonly everyMs: number | null;
}

interface Syncs {
  readonly now: Date;
  /** When the syncs of all tenants before this one began, newest first. */
  readonly earlier: readonly Date[];
}

/** How many groups a sync of all tenants asks for again. */
export async function dueForRefresh(
  { everyMs }: RefreshPolicy,
  { now, earlier }: Syncs,
  ledger: Pick<RefreshReads, "refreshableCount">,
): Promise<number> {
  if (everyMs === null) return 0;
  const groups = await ledger.refreshableCount(now);
  if (groups === 0) return 0;
  const late = await ledger.refreshableCount(new Date(now.getTime() - everyMs));
  return refreshShare({ now, earlier, everyMs, groups, late });
}

/** Enough to find three syncs of all tenants among the runs of other commands. */
const MOST_RUNS = 30;

/** When the last syncs of all tenants began, newest first, whatever became of them. */
export async function lastSyncs(
  ledger: RunReads,
  now: Date,
  { everyMs }: RefreshPolicy,
): Promise<readonly Date[]> {
  const since = new Date(now.getTime() - (everyMs ?? 0));
  const runs = await ledger.history(since, MOST_RUNS);
  return runs.filter(({ command }) => command === "sync").map(({ startedAt }) => startedAt);
}
