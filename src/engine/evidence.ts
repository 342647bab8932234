import {
  afterApproval,
  afterHealthyRead,
  afterHeldRead,
  afterPartialRead,
  type Evidence,
  whileReading,
} from "../core/evidence.ts";
import { heldOf, type Plan } from "./plan.ts";
import type { Run } from "./run.ts";

type Writing = Pick<Run, "ledger" | "lease">;

/** From here on the read may fail, and then nobody has aged by it. */
export async function suspendClock(evidence: Evidence, { ledger, lease }: Writing): Promise<void> {
  if (evidence.healthyAt === null) return;
  await ledger.write(lease, (transaction) => transaction.keepEvidence(whileReading(evidence)));
}

/** Writes down what a plan's read was worth, what is held by it, and that an approval was used. */
export async function recordEvidence(
  plan: Plan,
  before: Evidence,
  { ledger, lease }: Writing,
): Promise<void> {
  const isApproved = plan.clearance.kind === "cleared" && plan.clearance.approved;
  if (!plan.conclusive) return;
  if (!plan.isWhole) {
    // A plan of a few ids says nothing of the others; but a code that was used is used.
    const after = afterPartialRead(isApproved ? afterApproval(before) : before, plan.reading);
    if (after !== before) await ledger.write(lease, (transaction) => transaction.keepEvidence(after));
    return;
  }
  const { clearance, reading } = plan;
  const isHeld = clearance.kind === "held";
  const after = isHeld
    ? afterHeldRead(before, reading, clearance.removals.code)
    : afterHealthyRead(before, reading);
  await ledger.write(lease, async (transaction) => {
    if (isHeld || before.heldCode !== null) await transaction.markHeld(heldOf(plan));
    await transaction.keepEvidence(isApproved ? afterApproval(after) : after);
  });
}
