import type { Mark } from "../core/decide.ts";
import type { Plan } from "./plan.ts";
import type { Run } from "./run.ts";

/** Notes in the ledger which tenants went missing, which came back, and which failures are none any more. */
export async function recordMarks(plan: Plan, { ledger, lease, clock, observe }: Run): Promise<void> {
  if (plan.counts.missing + plan.counts.returned + plan.counts.recovered === 0) return;
  if (!plan.conclusive && plan.counts.missing > 0) {
    observe({
      kind: "warning",
      code: "SOURCE_INCONCLUSIVE",
      message: `the source returned no valid row: ${plan.counts.missing} absent tenants are not counted as missing`,
      hint: "check source.table, source.where and the database that source.url names",
    });
  }
  for await (const entries of plan.entries.read()) {
    const idsOf = (kind: Mark["kind"]): string[] =>
      entries.flatMap((entry) => (entry.kind === kind ? [entry.user_group_id] : []));
    const missing = plan.conclusive ? idsOf("missing") : [];
    const returned = idsOf("returned");
    const recovered = idsOf("recovered");
    if (missing.length + returned.length + recovered.length === 0) continue;
    await ledger.write(lease, async (transaction) => {
      await transaction.markMissing(missing, clock.now());
      await transaction.markReturned(returned);
      await transaction.markRecovered(recovered);
    });
  }
}
