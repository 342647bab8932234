import type { Failure } from "../../core/failure/failure.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { Observe } from "../../ports/observer.ts";
import type { Tally } from "./tally.ts";

/** What a step needs to report: the tally of the run, and the observer of its events. */
export interface Reporting {
  readonly tally: Tally;
  readonly observe: Observe;
}

/** Counts a group as failed in this run, and tells the observer. */
export function reportFailure(
  user_group_id: string,
  { code, message }: Failure,
  { tally, observe }: Reporting,
): void {
  tally.failed(user_group_id, { code, message });
  observe({ kind: "failed", user_group_id, code, message });
}

/**
 * Reports those of these tenants whose groups fail, as the ledger knows it. A full sync leaves tenants that were looked at
 * singly to whoever serves them, and must not end as if all were well with them.
 */
export async function reportFailing(
  ids: readonly string[],
  { ledger, tally }: Pick<Reporting, "tally"> & { readonly ledger: Pick<GroupReads, "of"> },
): Promise<void> {
  if (ids.length === 0) return;
  for (const { user_group_id, failures } of await ledger.of(ids)) {
    const failure = failures.change ?? failures.storing;
    if (failure !== null) tally.waits(user_group_id, failure);
  }
}
