import type { GraceClock } from "../../core/group/ledger-group.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
import type { Note } from "../../core/record/decide.ts";
import type { Observe } from "../../ports/observer.ts";
import type { KeyTable } from "../lease/keys.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import { isEvidence, type Plan, type PlanEntry } from "./plan.ts";

/**
 * Records the notes of a plan: tenants that left, came back or aren't ready, groups that are settled or were never made. They need
 * no call.
 */
export async function recordNotes(
  plan: Plan,
  history: ReadHistory,
  run: LedgerWriting & { readonly observe: Observe; readonly keys: KeyTable },
): Promise<void> {
  const { ledger, lease, clock, observe, keys } = run;
  const now = clock.now();
  const { left, returned, forgotten, change_dropped, settled } = plan.counts;
  if (left + returned + forgotten + change_dropped + settled === 0) return;
  // If removals are held, the grace clock stays at the history's time, so the reading's time would be in the future.
  const clockStands = plan.guard.kind === "held";
  const leftAt = clockStands ? history.clock : plan.reading.clock;
  for await (const entries of plan.entries.read()) {
    const notes = entries.flatMap((entry) => recordedOf(entry, plan, leftAt, keys));
    if (notes.length === 0) continue;
    await ledger.write(lease, (transaction) => transaction.change(notes, now));
    for (const note of notes)
      if (note.kind === "left")
        observe({ kind: "left", user_group_id: note.user_group_id, absence: note.absence });
  }
}

/**
 * What to record of an entry. A lookup of a single tenant records what it sees itself, but not that a tenant is gone. So record
 * in any case what protects a group: that the tenant was there, which ends its absence, that a new source never had it, and
 * that its grace period begins anew. Any read shows which tenants are there, but not which are gone.
 */
function recordedOf(entry: PlanEntry, plan: Plan, leftAt: GraceClock, keys: KeyTable): Note[] {
  const { user_group_id: id } = entry;
  const wasLookedUp = id !== null && keys.wasLookedUp(id);
  switch (entry.kind) {
    case "left": {
      const isRecorded = !wasLookedUp || entry.absence === "unseen" || plan.reading.afterLongPause;
      return isRecorded && isEvidence(plan) ? [{ ...entry, clock: leftAt }] : [];
    }
    case "forgotten":
      return !wasLookedUp && isEvidence(plan) ? [entry] : [];
    case "returned":
    case "change_dropped":
    case "settled":
      return [wasLookedUp ? { kind: "returned", user_group_id: entry.user_group_id } : entry];
    default:
      return [];
  }
}
