import { RejectionMemory } from "../../core/group/rejections.ts";
import type { RejectedTenant } from "../../core/group/tenant.ts";
import type { Observe } from "../../ports/observer.ts";
import type { KeyTable } from "../lease/keys.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Plan } from "./plan.ts";

interface Recording extends LedgerWriting {
  readonly observe: Observe;
  readonly keys: KeyTable;
}

interface RejectedRows {
  readonly rejected: AsyncIterable<RejectedTenant>;
  readonly count: number;
  /** The ids that the read was about; undefined: all. */
  readonly of: ReadonlySet<string> | undefined;
}

export const rejectedRows = (plan: Plan, of: ReadonlySet<string> | undefined): RejectedRows => ({
  rejected: rejectedIn(plan),
  count: plan.counts.rejected,
  of,
});

async function* rejectedIn({ counts, entries }: Plan): AsyncGenerator<RejectedTenant> {
  if (counts.rejected === 0) return;
  for await (const batch of entries.read())
    for (const entry of batch) if (entry.kind === "rejected") yield entry;
}

/**
 * Remembers in the ledger which rows are rejected, and tells of rows that are rejected now or no more. A source that hasn't changed
 * costs one read of the ledger and no write. A full sync leaves tenants alone that were looked up singly since it has read the
 * source.
 */
export async function recordRejections(
  { rejected, count, of }: RejectedRows,
  { ledger, lease, clock, observe, keys }: Recording,
): Promise<void> {
  // If a row may be new, all rejections are read: only their number tells whether there is room for another one.
  const remembered = await ledger.rejections(of === undefined || count > 0 ? undefined : [...of]);
  if (remembered.length + count === 0) return;
  const isAbout = (id: string): boolean => (of ? of.has(id) : !keys.wasLookedUp(id));
  const memory = new RejectionMemory(remembered, of === undefined);
  for await (const entry of rejected)
    if (entry.user_group_id === null || isAbout(entry.user_group_id)) memory.see(entry);
  const { changed, appeared, gone } = memory.changes(isAbout);
  if (changed.length + gone.length === 0) return;
  await ledger.write(lease, (transaction) => transaction.recordRejections(changed, gone, clock.now()));
  for (const rejection of appeared) observe({ kind: "rejected", rejection });
  const again = new Set(appeared.map(({ user_group_id }) => user_group_id));
  for (const rejection of gone)
    if (rejection.user_group_id === null || !again.has(rejection.user_group_id))
      observe({ kind: "accepted", rejection });
}
