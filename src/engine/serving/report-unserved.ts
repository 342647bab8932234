import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { Turns } from "../lease/tenant-turns.ts";
import { type Reporting, reportFailure } from "../report/report-failure.ts";

/**
 * Reports the tenants that were looked at singly and are not served: their groups fail, as the ledger knows it, or their last
 * look could not serve them. A full sync leaves them to whoever serves them, and must not end as if all were well with them.
 * As long as the service has answered nobody in this run, waits for those who are being served: their calls tell whether
 * it answers at all. If that ends the run, no tenant is charged.
 */
export async function reportUnserved(
  turns: Pick<Turns, "lookedAt" | "unserved" | "take">,
  reporting: Reporting & {
    readonly ledger: Pick<GroupReads, "of">;
    readonly retries: { readonly hasAnswered: boolean };
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { lookedAt } = turns;
  if (lookedAt.length === 0) return;
  for (const id of lookedAt) {
    if (reporting.retries.hasAnswered) break;
    (await turns.take([id])).end();
  }
  if (reporting.signal.aborted) return;
  const { unserved } = turns;
  const groups = new Map((await reporting.ledger.of(lookedAt)).map((group) => [group.user_group_id, group]));
  for (const id of lookedAt) {
    const group = groups.get(id);
    const why = unserved.get(id);
    const failing = group?.failures.change ?? group?.failures.storing;
    if (failing) reporting.tally.waits(id, failing);
    else if (why && (why.wanted === undefined || why.wanted !== group?.fingerprint))
      reportFailure(id, why, reporting);
  }
}
