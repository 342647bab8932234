import type { RetryableFailure } from "../../core/failure/group-failures.ts";
import type { GraceClock } from "../../core/group/ledger-group.ts";
import { RejectionMemory } from "../../core/group/rejections.ts";
import type { Change } from "../../core/plan/change.ts";
import {
  afterApproval,
  afterHealthyRead,
  afterHeldRead,
  afterPartialRead,
  type ReadHistory,
  whileReading,
} from "../../core/plan/read-history.ts";
import type { EventOf, GroupEvent } from "../../core/record/next.ts";
import type { Observe } from "../../ports/observer.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Locks } from "../lease/tenant-locks.ts";
import { changesOf, heldOf, isEvidence, type Plan, type PlanEntry } from "../plan/plan.ts";

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
    locks,
  }: LedgerWriting & { readonly observe: Observe; readonly locks: Locks },
): Promise<RecordedUpdates> {
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
    cameBack += events.filter(({ kind }) => kind === "copied").length;
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
  const back = [event({ kind: "returned" }), event({ kind: "copied", failure: notVerified(on.now) })];
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

/** Pauses the grace clock before a read: if the read fails, the time since the last good read must not count. */
export async function pauseGraceClock(history: ReadHistory, { ledger, lease }: LedgerWriting): Promise<void> {
  if (history.healthyAt !== null)
    await ledger.write(lease, (transaction) => transaction.recordReadHistory(whileReading(history)));
}

/**
 * Records whether the read was good, which removals are held, and that an approval code was used. Returns the changes that
 * may be made now.
 *
 * Run this step after every GET for a lost token: the answer to such a GET clears the held mark of its group. Changes of
 * the groups in `failedGets` are left to the next sync.
 */
export async function recordRead(
  plan: Plan,
  before: ReadHistory,
  failedGets: ReadonlySet<string>,
  run: LedgerWriting,
): Promise<AsyncIterable<Change>> {
  await recordHistory(plan, before, run);
  return without(failedGets, changesOf(plan));
}

async function recordHistory(
  plan: Plan,
  before: ReadHistory,
  { ledger, lease }: LedgerWriting,
): Promise<void> {
  const isApproved = plan.guard.kind === "allowed" && plan.guard.approved;
  if (!isEvidence(plan)) return;
  if (!plan.isWhole) {
    // A plan for some ids says nothing about the other tenants, but an approval code that it used is spent.
    const after = afterPartialRead(isApproved ? afterApproval(before) : before, plan.reading);
    if (after !== before) await ledger.write(lease, (transaction) => transaction.recordReadHistory(after));
    return;
  }
  const { guard, reading } = plan;
  const isHeld = guard.kind === "held";
  const after = isHeld
    ? afterHeldRead(before, reading, guard.removals.code)
    : afterHealthyRead(before, reading);
  await ledger.write(lease, async (transaction) => {
    if (isHeld || before.heldCode !== null) await transaction.markHeld(heldOf(plan));
    await transaction.recordReadHistory(isApproved ? afterApproval(after) : after);
  });
}

async function* without(ids: ReadonlySet<string>, changes: AsyncIterable<Change>): AsyncGenerator<Change> {
  for await (const change of changes) if (!ids.has(change.user_group_id)) yield change;
}

interface Recording extends LedgerWriting {
  readonly observe: Observe;
  readonly locks: Locks;
}

/**
 * Remembers in the ledger which rows the plan rejects, and tells of rows that are rejected now or no more. A source that
 * hasn't changed costs one read of the ledger and no write. `only` are the ids that the plan is about; all if left out.
 * A full sync leaves tenants alone that were looked up singly since it has read the source.
 */
export async function recordRejections(
  plan: Plan,
  only: ReadonlySet<string> | undefined,
  { ledger, lease, clock, observe, locks }: Recording,
): Promise<void> {
  // If a row may be new, all rejections are read: only their number tells whether there is room for another one.
  const remembered = await ledger.rejections(
    plan.isWhole || plan.counts.rejected > 0 ? undefined : [...(only ?? [])],
  );
  if (remembered.length + plan.counts.rejected === 0) return;
  const isAbout = (id: string): boolean => (only ? only.has(id) : !locks.wasLookedUp(id));
  const memory = new RejectionMemory(remembered, plan.isWhole);
  if (plan.counts.rejected > 0) {
    for await (const batch of plan.entries.read())
      for (const entry of batch)
        if (entry.kind === "rejected" && (entry.user_group_id === null || isAbout(entry.user_group_id)))
          memory.see(entry);
  }
  const { changed, appeared, gone } = memory.changes(isAbout);
  if (changed.length + gone.length === 0) return;
  await ledger.write(lease, (transaction) => transaction.recordRejections(changed, gone, clock.now()));
  for (const rejection of appeared) observe({ kind: "rejected", rejection });
  const again = new Set(appeared.map(({ user_group_id }) => user_group_id));
  for (const rejection of gone)
    if (rejection.user_group_id === null || !again.has(rejection.user_group_id))
      observe({ kind: "accepted", rejection });
}
