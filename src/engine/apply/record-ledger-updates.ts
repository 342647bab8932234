import type { Failure } from "../../core/failure/sync-error.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
import type { StoredResult } from "../../ports/ledger/groups.ts";
import type { Observe } from "../../ports/observer.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Turns } from "../lease/tenant-turns.ts";
import { isEvidence, type Plan, type PlanEntry } from "../plan/plan.ts";

export interface RecordedUpdates {
  /** By this time, the tokens of tenants that came back are due to be verified. */
  readonly recordedAt: Date;
  /** How many tenants came back. */
  readonly cameBack: number;
}

/**
 * Records what a plan changes in the ledger alone: tenants that left, came back or aren't ready, groups that are settled or
 * were never made.
 */
export async function recordLedgerUpdates(
  plan: Plan,
  history: ReadHistory,
  {
    ledger,
    lease,
    clock,
    observe,
    turns,
  }: LedgerWriting & { readonly observe: Observe; readonly turns: Turns },
): Promise<RecordedUpdates> {
  const now = clock.now();
  let cameBack = 0;
  const { left, returned, forgotten, set_aside, settled } = plan.counts;
  if (left + returned + forgotten + set_aside + settled === 0) return { recordedAt: now, cameBack };
  // If removals are held, the grace clock stays at the history's time, so the reading's time would be in the future.
  const clockStands = plan.guard.kind === "held";
  const leftAt = clockStands ? history.clock : plan.reading.clock;
  for await (const planned of plan.entries.read()) {
    const entries = planned.flatMap((entry) => recordedOf(entry, plan.reading, turns));
    // Any read shows which tenants are there, but not which are gone.
    const gone = isEvidence(plan) ? entries : [];
    const leftUpdates = gone.filter((entry) => entry.kind === "left");
    const forgottenIds = gone.flatMap((entry) => (entry.kind === "forgotten" ? [entry.user_group_id] : []));
    const asideIds = entries.flatMap((entry) => (entry.kind === "set_aside" ? [entry.user_group_id] : []));
    const returnedIds = entries.flatMap((entry) =>
      entry.kind === "returned" || (entry.kind === "set_aside" && entry.wasGone) ? [entry.user_group_id] : [],
    );
    const settledUpdates = entries.filter((entry) => entry.kind === "settled");
    const back = [
      ...returnedIds,
      ...settledUpdates.flatMap((update) => (update.wasGone ? update.user_group_id : [])),
    ];
    cameBack += back.length;
    const lists = [leftUpdates, forgottenIds, asideIds, returnedIds, settledUpdates];
    if (lists.every((list) => list.length === 0)) continue;
    await ledger.write(lease, async (transaction) => {
      if (leftUpdates.length > 0) await transaction.markLeft(leftUpdates, leftAt, now);
      if (returnedIds.length > 0) await transaction.markReturned(returnedIds);
      if (asideIds.length > 0) await transaction.forgetFailedChanges(asideIds);
      if (forgottenIds.length > 0) await transaction.forget(forgottenIds);
      if (settledUpdates.length > 0) await transaction.markSettled(settledUpdates);
      if (back.length > 0) await transaction.recordStored(back.map(toBeVerified(now)), now);
    });
    for (const { user_group_id, absence } of leftUpdates) observe({ kind: "left", user_group_id, absence });
  }
  return { recordedAt: now, cameBack };
}

/**
 * What to record of an entry. A look at a single tenant records what it sees itself, but not that a tenant is gone. So record
 * in any case what protects a group: that the tenant was there, which ends its absence, that a new source never had it, and
 * that its grace period begins anew.
 */
function recordedOf(entry: PlanEntry, { afterLongPause }: Plan["reading"], turns: Turns): PlanEntry[] {
  const { kind, user_group_id: id } = entry;
  if (id === null || !turns.wasLookedAt(id)) return [entry];
  if ((kind === "settled" || kind === "set_aside") && entry.wasGone)
    return [{ kind: "returned", user_group_id: id }];
  if (kind === "left") return entry.absence === "estranged" || afterLongPause ? [entry] : [];
  return kind === "returned" ? [entry] : [];
}

/** Why the token may not be stored: if the tokens moved while the tenant was gone, this token was left behind. */
const NOT_VERIFIED: Failure = {
  code: "TOKEN_NOT_EVERYWHERE",
  message: "the tenant came back, and the token stores have not been checked for its token yet",
};

const toBeVerified =
  (now: Date) =>
  (user_group_id: string): StoredResult => ({
    user_group_id,
    failure: { ...NOT_VERIFIED, count: 1, retryAt: now },
  });
