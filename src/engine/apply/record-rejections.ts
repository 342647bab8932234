import { RejectionMemory } from "../../core/group/rejections.ts";
import type { Observe } from "../../ports/observer.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Locks } from "../lease/tenant-locks.ts";
import type { Plan } from "../plan/plan.ts";

interface Recording extends LedgerWriting {
  readonly observe: Observe;
  readonly locks: Locks;
}

/**
 * Remembers in the ledger which rows the plan rejects, and tells of rows that are rejected now or no more. A source that
 * hasn't changed costs one read of the ledger and no write. `only` are the ids that the plan is about; all if left out.
 * A full sync leaves tenants alone that were looked up singly since it has read the source.
 */
export async function recordRejections(
  plan: Plan,
  only: ReadonlySet<string> | undefined,
  { ledger, lease, clock, observe, locks }: Recording,
): Promise<void> {
  // If a row may be new, all rejections are read: only their number tells whether there is room for another one.
  const remembered = await ledger.rejections(
    plan.isWhole || plan.counts.rejected > 0 ? undefined : [...(only ?? [])],
  );
  if (remembered.length + plan.counts.rejected === 0) return;
  const isAbout = (id: string): boolean => (only ? only.has(id) : !locks.wasLookedUp(id));
  const memory = new RejectionMemory(remembered, plan.isWhole);
  if (plan.counts.rejected > 0) {
    for await (const batch of plan.entries.read())
      for (const entry of batch)
        if (entry.kind === "rejected" && (entry.user_group_id === null || isAbout(entry.user_group_id)))
          memory.see(entry);
  }
  const { changed, appeared, gone } = memory.changes(isAbout);
  if (changed.length + gone.length === 0) return;
  await ledger.write(lease, (transaction) => transaction.recordRejections(changed, gone, clock.now()));
  for (const rejection of appeared) observe({ kind: "rejected", rejection });
  const again = new Set(appeared.map(({ user_group_id }) => user_group_id));
  for (const rejection of gone)
    if (rejection.user_group_id === null || !again.has(rejection.user_group_id))
      observe({ kind: "accepted", rejection });
}
