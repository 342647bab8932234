import type { RetryableFailure } from "../../core/failure/group-failures.ts";
import type { GraceClock } from "../../core/group/ledger-group.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
import type { EventOf, GroupEvent } from "../../core/record/next.ts";
import type { Observe } from "../../ports/observer.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Locks } from "../lease/tenant-locks.ts";
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
  run: LedgerWriting & { readonly observe: Observe; readonly locks: Locks },
): Promise<RecordedUpdates> {
  const { ledger, lease, clock, observe, locks } = run;
  const now = clock.now();
  let cameBack = 0;
  const { left, returned, forgotten, cleared, settled } = plan.counts;
  if (left + returned + forgotten + cleared + settled === 0) return { recordedAt: now, cameBack };
  // If removals are held, the grace clock stays at the history's time, so the reading's time would be in the future.
  const clockStands = plan.guard.kind === "held";
  const leftAt = clockStands ? history.clock : plan.reading.clock;
  for await (const planned of plan.entries.read()) {
    const entries = planned.flatMap((entry) => recordedOf(entry, plan.reading, locks));
    const events = entries.flatMap((entry) => eventsOf(entry, { isEvidence: isEvidence(plan), leftAt, now }));
    if (events.length === 0) continue;
    cameBack += events.filter(({ kind }) => kind === "storing_ended").length;
    await ledger.write(lease, (transaction) => transaction.change(events, now));
    for (const event of events)
      if (event.kind === "left")
        observe({ kind: "left", user_group_id: event.user_group_id, absence: event.absence });
  }
  return { recordedAt: now, cameBack };
}

/**
 * What to record of an entry. A lookup of a single tenant records what it sees itself, but not that a tenant is gone. So record
 * in any case what protects a group: that the tenant was there, which ends its absence, that a new source never had it, and
 * that its grace period begins anew.
 */
function recordedOf(entry: PlanEntry, { afterLongPause }: Plan["reading"], locks: Locks): PlanEntry[] {
  const { kind, user_group_id: id } = entry;
  if (id === null || !locks.wasLookedUp(id)) return [entry];
  if ((kind === "settled" || kind === "cleared") && entry.wasGone)
    return [{ kind: "returned", user_group_id: id }];
  if (kind === "left") return entry.absence === "unseen" || afterLongPause ? [entry] : [];
  return kind === "returned" ? [entry] : [];
}

/** What an entry says that needs no call. */
function eventsOf(
  entry: PlanEntry,
  on: { readonly isEvidence: boolean; readonly leftAt: GraceClock; readonly now: Date },
): readonly EventOf[] {
  const { user_group_id: id } = entry;
  if (id === null) return [];
  const event = (of: GroupEvent): EventOf => ({ user_group_id: id, ...of });
  const back = [event({ kind: "returned" }), event({ kind: "storing_ended", failure: notVerified(on.now) })];
  switch (entry.kind) {
    case "left":
      // Any read shows which tenants are there, but not which are gone.
      return on.isEvidence ? [event({ kind: "left", absence: entry.absence, clock: on.leftAt })] : [];
    case "forgotten":
      return on.isEvidence ? [event({ kind: "forgotten" })] : [];
    case "returned":
      return back;
    case "cleared":
      return [event({ kind: "change_dropped" }), ...(entry.wasGone ? back : [])];
    case "settled": {
      const { row, dataSourceId, wasGone } = entry;
      return [event({ kind: "settled", row, dataSourceId }), ...(wasGone ? back : [])];
    }
    default:
      return [];
  }
}

/** Why the token may not be stored: if the tokens moved while the tenant was gone, this token was left behind. */
const notVerified = (now: Date): RetryableFailure => ({
  code: "TOKEN_NOT_EVERYWHERE",
  message: "the tenant came back, and the token stores have not been checked for its token yet",
  count: 1,
  retryAt: now,
});
