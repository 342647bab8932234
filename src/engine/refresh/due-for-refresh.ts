import { refreshShare, syncIntervalMs } from "../../core/drift/refresh.ts";
import type { RefreshReads } from "../../ports/ledger/groups.ts";
import type { RunReads } from "../../ports/ledger/scope.ts";
import type { Silence } from "./sign-of-life.ts";

/** The `service.refresh` of the config. */
export interface RefreshPolicy {
  /** Each group is asked for again within this time; null: only if the operator asks for that. */
  readonly everyMs: number | null;
  /** A daemon's sync asks for one group if the service has answered nobody for an hour. All runs of the process share this. */
  readonly silence?: Silence;
}

/** What one refresh is to do. */
export interface DueRefresh {
  /** How many groups it asks for. */
  readonly due: number;
  /** The longest time that it may take; null if it takes as long as all of them need. */
  readonly withinMs: number | null;
}

interface SyncTimes {
  /** When this sync began. */
  readonly began: Date;
  readonly now: Date;
  /** The run history has this sync already. */
  readonly isRecorded: boolean;
}

/** The time that a refresh may take, as a part of the time between two syncs. */
const PART_OF_INTERVAL = 0.5;

/** The share of the groups that a sync of all tenants asks for again. */
export async function dueForRefresh(
  { everyMs }: RefreshPolicy,
  { began, now, isRecorded }: SyncTimes,
  ledger: Pick<RefreshReads, "refreshableCount"> & RunReads,
): Promise<DueRefresh> {
  if (everyMs === null) return { due: 0, withinMs: 0 };
  const groups = await ledger.refreshableCount({ since: began, now });
  if (groups === 0) return { due: 0, withinMs: 0 };
  const start = new Date(began.getTime() - everyMs);
  const late = await ledger.refreshableCount({ since: start, now });
  const earlier = (await lastSyncs(ledger, start)).slice(isRecorded ? 1 : 0);
  return {
    due: refreshShare({ now: began, earlier, everyMs, groups, late }),
    withinMs: syncIntervalMs(began, earlier) * PART_OF_INTERVAL,
  };
}

/** This sync, and those of the last two intervals. */
const MOST_SYNCS = 3;

/** When the last syncs of all tenants began, newest first, whatever became of them. */
async function lastSyncs(ledger: RunReads, since: Date): Promise<readonly Date[]> {
  const syncs = await ledger.history(since, MOST_SYNCS, "sync");
  return syncs.map(({ startedAt }) => startedAt);
}
