import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { Locks } from "../lease/tenant-locks.ts";
import { type Reporting, reportFailure } from "../report/tally.ts";

/**
 * Reports the tenants that were looked up singly and are not served: their groups fail, as the ledger knows it, or their last
 * lookup could not serve them. A full sync leaves them to whoever serves them, and must not end as if all were well with them.
 * As long as the service has answered nobody in this run, waits for those who are being served: their calls tell whether
 * it answers at all. If that ends the run, no tenant is charged.
 */
export async function reportUnserved(
  locks: Pick<Locks, "lookedUp" | "unserved" | "acquire">,
  reporting: Reporting & {
    readonly ledger: Pick<GroupReads, "records">;
    readonly throttle: { readonly hasAnswered: boolean };
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { lookedUp } = locks;
  if (lookedUp.length === 0) return;
  for (const id of lookedUp) {
    if (reporting.throttle.hasAnswered) break;
    (await locks.acquire([id])).release();
  }
  if (reporting.signal.aborted) return;
  const { unserved } = locks;
  const groups = await reporting.ledger.records(lookedUp);
  for (const id of lookedUp) {
    const group = groups.get(id);
    const why = unserved.get(id);
    const failing = group?.failures.change ?? group?.failures.storing;
    if (!failing && why && (why.wanted === undefined || why.wanted !== group?.fingerprint))
      reportFailure(id, why, reporting);
  }
}
