import type { Evidence } from "../core/evidence.ts";
import type { Failure } from "../core/outcome.ts";
import type { StoredResult } from "../ports/ledger.ts";
import type { Plan } from "./plan.ts";
import type { Run } from "./run.ts";

/** Writes a plan's notes to the ledger: tenants that left or came back, groups that are settled or never were. */
export async function recordNotes(
  plan: Plan,
  evidence: Evidence,
  { ledger, lease, clock, observe }: Pick<Run, "ledger" | "lease" | "clock" | "observe">,
): Promise<void> {
  const { left, returned, forgotten, settled } = plan.counts;
  if (left + returned + forgotten + settled === 0) return;
  // A held read doesn't advance the clock: what it would have shown lies in the future.
  const clockStands = plan.isWhole && plan.clearance.kind === "held";
  const leftAt = clockStands ? evidence.clock : plan.reading.clock;
  for await (const entries of plan.entries.read()) {
    // An inconclusive read shows who is there, and not who isn't.
    const gone = plan.conclusive ? entries : [];
    const leftNotes = gone.filter((entry) => entry.kind === "left");
    const forgottenIds = gone.flatMap((entry) => (entry.kind === "forgotten" ? [entry.user_group_id] : []));
    const returnedIds = entries.flatMap((entry) => (entry.kind === "returned" ? [entry.user_group_id] : []));
    const settledNotes = entries.filter((entry) => entry.kind === "settled");
    const back = [
      ...returnedIds,
      ...settledNotes.flatMap((note) => (note.wasGone ? note.user_group_id : [])),
    ];
    if (leftNotes.length + forgottenIds.length + returnedIds.length + settledNotes.length === 0) continue;
    await ledger.write(lease, async (transaction) => {
      if (leftNotes.length > 0) await transaction.markLeft(leftNotes, leftAt, clock.now());
      if (returnedIds.length > 0) await transaction.markReturned(returnedIds);
      if (forgottenIds.length > 0) await transaction.forget(forgottenIds);
      if (settledNotes.length > 0) await transaction.markSettled(settledNotes);
      if (back.length > 0) await transaction.recordStored(back.map(toBeVerified(clock.now())), clock.now());
    });
    for (const { user_group_id, absence } of leftNotes) observe({ kind: "left", user_group_id, absence });
  }
}

/** While its tenant was gone, nobody took its token to where the others went. */
const NOT_VERIFIED: Failure = {
  code: "TOKEN_NOT_EVERYWHERE",
  message: "its tenant came back, and nobody has looked yet whether its token is stored",
};

const toBeVerified =
  (now: Date) =>
  (user_group_id: string): StoredResult => ({
    user_group_id,
    failure: { ...NOT_VERIFIED, count: 1, retryAt: now },
  });
