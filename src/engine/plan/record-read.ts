import { removalsDue } from "../../core/deletion/removals.ts";
import { compareIds } from "../../core/group/tenant.ts";
import type { Change } from "../../core/plan/change.ts";
import {
  afterApproval,
  afterFullRead,
  afterPartialRead,
  type ReadHistory,
  whileReading,
  withStaleCode,
} from "../../core/plan/read-history.ts";
import type { EventOf } from "../../core/record/next.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import { candidatePages } from "./candidate-pages.ts";
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
  const held =
    guard.kind === "held" ? { code: guard.removals.code, count: removalsDue(guard.removals) } : null;
  const after = afterFullRead(before, reading, held);
  // Read before the transaction begins: a read waits for a connection for ever if transactions that wait so have them all.
  const released = held === null ? [] : await releasedIn(plan, ledger);
  await ledger.write(lease, async (transaction) => {
    await transaction.recordScope({ history: isApproved ? afterApproval(after) : after });
    const now = clock.now();
    if (held !== null) await markHeld(plan, released, transaction, now);
    else if (before.held !== null) await transaction.changeAll(RELEASED, now, { kind: "held" });
  });
}

const RELEASED = { kind: "held", removal: null } as const;

/** Marks the removals that are held now. What is marked already costs no write. */
async function markHeld(
  plan: Plan,
  released: readonly string[],
  transaction: LedgerTransaction,
  now: Date,
): Promise<void> {
  for await (const batch of heldOf(plan))
    await transaction.change(
      batch.map(({ user_group_id, kind }): EventOf => ({ kind: "held", user_group_id, removal: kind })),
      now,
    );
  await transaction.change(
    released.map((user_group_id): EventOf => ({ ...RELEASED, user_group_id })),
    now,
  );
}

/** The groups that are marked as held, and whose removal isn't held any more. */
async function releasedIn(plan: Plan, ledger: LedgerWriting["ledger"]): Promise<readonly string[]> {
  const held = heldIds(plan);
  let next = await held.next();
  const released: string[] = [];
  for await (const page of candidatePages(ledger, { kind: "held" }))
    for (const { user_group_id: id } of page) {
      while (!next.done && compareIds(next.value, id) < 0) next = await held.next();
      if (next.done || next.value !== id) released.push(id);
    }
  return released;
}

async function* heldIds(plan: Plan): AsyncGenerator<string, void> {
  for await (const batch of heldOf(plan)) for (const { user_group_id } of batch) yield user_group_id;
}

async function* without(ids: ReadonlySet<string>, changes: AsyncIterable<Change>): AsyncGenerator<Change> {
  for await (const change of changes) if (!ids.has(change.user_group_id)) yield change;
}
