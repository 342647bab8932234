import type { Plan } from "./plan.ts";
import type { Run } from "./run.ts";

/** Writes a plan's notes to the ledger: tenants that went missing or came back, groups that are settled. */
export async function recordNotes(plan: Plan, { ledger, lease, clock, observe }: Run): Promise<void> {
  if (plan.counts.missing + plan.counts.returned + plan.counts.settled === 0) return;
  if (!plan.conclusive && plan.counts.missing > 0) {
    observe({
      kind: "warning",
      code: "SOURCE_INCONCLUSIVE",
      message: `the source returned no valid row: ${plan.counts.missing} absent tenants are not counted as missing`,
      hint: "check source.table, source.where and the database that source.url names",
    });
  }
  for await (const entries of plan.entries.read()) {
    const idsOf = (kind: "missing" | "returned"): string[] =>
      entries.flatMap((entry) => (entry.kind === kind ? [entry.user_group_id] : []));
    const missing = plan.conclusive ? idsOf("missing") : [];
    const returned = idsOf("returned");
    const settled = entries.filter((entry) => entry.kind === "settled");
    if (missing.length + returned.length + settled.length === 0) continue;
    await ledger.write(lease, async (transaction) => {
      await transaction.markMissing(missing, clock.now());
      await transaction.markReturned(returned);
      await transaction.markSettled(settled);
    });
  }
}
