import {
  afterApproval,
  afterHealthyRead,
  afterHeldRead,
  type Evidence,
  whileReading,
} from "../core/evidence.ts";
import type { HealthyTime } from "../core/ledger-group.ts";
import { heldOf, type Plan } from "./plan.ts";
import type { Run } from "./run.ts";

type Notebook = Pick<Run, "ledger" | "lease" | "clock" | "observe">;

/**
 * Writes a plan's notes to the ledger: tenants that left, at this point of the healthy clock, or came back, groups
 * that are settled or never were.
 */
export async function recordNotes(
  plan: Plan,
  leftAt: HealthyTime,
  { ledger, lease, clock, observe }: Notebook,
): Promise<void> {
  const { left, returned, forgotten, settled } = plan.counts;
  if (left + returned + forgotten + settled === 0) return;
  for await (const entries of plan.entries.read()) {
    // An inconclusive read shows who is there, and not who isn't.
    const gone = plan.conclusive ? entries : [];
    const leftNotes = gone.filter((entry) => entry.kind === "left");
    const forgottenIds = gone.flatMap((entry) => (entry.kind === "forgotten" ? [entry.user_group_id] : []));
    const returnedIds = entries.flatMap((entry) => (entry.kind === "returned" ? [entry.user_group_id] : []));
    const settledNotes = entries.filter((entry) => entry.kind === "settled");
    if (leftNotes.length + forgottenIds.length + returnedIds.length + settledNotes.length === 0) continue;
    await ledger.write(lease, async (transaction) => {
      if (leftNotes.length > 0) await transaction.markLeft(leftNotes, leftAt, clock.now());
      if (returnedIds.length > 0) await transaction.markReturned(returnedIds);
      if (forgottenIds.length > 0) await transaction.forget(forgottenIds);
      if (settledNotes.length > 0) await transaction.markSettled(settledNotes);
    });
    for (const { user_group_id, absence } of leftNotes) observe({ kind: "left", user_group_id, absence });
  }
}

/** From here on the read may fail, and then nobody has aged by it. */
export async function suspendClock(evidence: Evidence, { ledger, lease }: Notebook): Promise<void> {
  if (evidence.healthyAt === null) return;
  await ledger.write(lease, (transaction) => transaction.keepEvidence(whileReading(evidence)));
}

/** Writes down what the read of a whole plan was worth, and what is held by it. */
export async function recordEvidence(
  plan: Plan,
  before: Evidence,
  source: string,
  now: Date,
  { ledger, lease }: Notebook,
): Promise<void> {
  if (!plan.conclusive) return;
  const isHeld = plan.clearance.kind === "held";
  const after = isHeld ? afterHeldRead(before, source) : afterHealthyRead(before, plan.reading, source, now);
  await ledger.write(lease, async (transaction) => {
    if (isHeld || before.holding) await transaction.markHeld(heldOf(plan));
    await transaction.keepEvidence(isApproved(plan) ? afterApproval(after) : after);
  });
}

/** A plan of a few ids says nothing of the others; but a code that was used is used. */
export async function recordApproval(
  plan: Plan,
  before: Evidence,
  { ledger, lease }: Notebook,
): Promise<void> {
  if (!isApproved(plan)) return;
  await ledger.write(lease, (transaction) => transaction.keepEvidence(afterApproval(before)));
}

const isApproved = ({ clearance }: Plan): boolean => clearance.kind === "cleared" && clearance.approved;
