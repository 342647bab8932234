import type { Change } from "../../core/plan/change.ts";
import {
  afterApproval,
  afterFullRead,
  afterPartialRead,
  type ReadHistory,
  whileReading,
  withStaleCode,
} from "../../core/plan/read-history.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import { markHeld } from "./mark-held.ts";
import { changeCounts, changesOf, heldOf, isEvidence, type Plan } from "./plan.ts";

/** Pauses the grace clock before a read: if the read fails, the time since the last good read must not count. */
export async function pauseGraceClock(history: ReadHistory, { ledger, lease }: LedgerWriting): Promise<void> {
  if (history.healthyAt !== null)
    await ledger.write(lease, (transaction) => transaction.recordScope({ history: whileReading(history) }));
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
  { ledger, lease, clock }: LedgerWriting,
): Promise<void> {
  const isApproved = plan.guard.kind === "allowed" && plan.guard.approved;
  if (!isEvidence(plan)) return;
  if (!plan.isWhole) {
    // A plan for some ids says nothing about the other tenants, but it may use an approval code, or do what is held under one.
    const { replace, delete: deletions } = changeCounts(plan);
    const known = replace + deletions > 0 ? withStaleCode(before) : before;
    const after = afterPartialRead(isApproved ? afterApproval(known) : known, plan.reading);
    if (after !== before)
      await ledger.write(lease, (transaction) => transaction.recordScope({ history: after }));
    return;
  }
  const { guard, reading } = plan;
  const heldCode = guard.kind === "held" ? guard.removals.code : null;
  const after = afterFullRead(before, reading, heldCode);
  await ledger.write(lease, async (transaction) => {
    await transaction.recordScope({ history: isApproved ? afterApproval(after) : after });
    if (heldCode !== null || before.heldCode !== null)
      await markHeld(heldOf(plan), ledger, transaction, clock.now());
  });
}

async function* without(ids: ReadonlySet<string>, changes: AsyncIterable<Change>): AsyncGenerator<Change> {
  for await (const change of changes) if (!ids.has(change.user_group_id)) yield change;
}
