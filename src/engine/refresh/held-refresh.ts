import { type RefreshHold, refreshHold } from "../../core/drift/refresh.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS } from "../../core/plan/deletion-policy.ts";
import type { UpdatePolicy } from "../../core/record/decide.ts";
import type { JournalSum } from "../../ports/ledger/groups.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { Warning } from "../../ports/observer.ts";
import type { LedgerWriting } from "../lease/lease.ts";

/** Why a refresh that began now would be held; null if it wouldn't be. */
export async function heldRefresh(
  ledger: Pick<LedgerView, "sums" | "journalSum" | "scope">,
  { name, deletion: { limit } }: { readonly name: string; readonly deletion: Pick<DeletionPolicy, "limit"> },
  now: Date,
): Promise<RefreshHold | null> {
  const found = await foundLately(ledger, now);
  if (found.count === 0) return null;
  return refreshHold(name, found, { limit, owned: (await ledger.sums({ kind: "existing" })).counts.total });
}

/** What refreshes found in the time in which it counts, and since the last approval. */
export async function foundLately(
  ledger: Pick<LedgerView, "journalSum" | "scope">,
  now: Date,
): Promise<JournalSum> {
  const { refreshApproved } = await ledger.scope();
  return ledger.journalSum(["gone", "token"], new Date(now.getTime() - LIMIT_PERIOD_MS), refreshApproved);
}

/** The operator has approved what refreshes have found until now. */
export async function approveFound({ ledger, lease, clock }: LedgerWriting): Promise<void> {
  const { last } = await foundLately(ledger, clock.now());
  if (last) await ledger.write(lease, (to) => to.recordScope({ refreshApproved: last.id }));
}

/**
 * A warning if a GET could change a group although `service.update: never` forbids that, else null. Anybody may have changed
 * the group at the service, and a service that updates would change it back.
 */
export function unsafeToAsk(update: UpdatePolicy, updates: boolean | null): Warning | null {
  if (update !== "never" || updates === false) return null;
  const [whether, hint] =
    updates === null
      ? ["nobody knows whether", "groupsync probe finds that out"]
      : ["at this service", "leave service.refresh out, or choose another service.update"];
  return {
    kind: "warning",
    code: "REFRESH_UNSAFE",
    message: `no group is asked for again: service.update is never, and ${whether} a GET changes an existing group`,
    hint,
  };
}
