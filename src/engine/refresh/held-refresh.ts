import { type RefreshFindings, type RefreshHold, refreshHold } from "../../core/drift/refresh.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS } from "../../core/plan/deletion-policy.ts";
import type { UpdatePolicy } from "../../core/record/decide.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { Warning } from "../../ports/observer.ts";

/** Why a refresh that began now would be held; null if it wouldn't be. */
export async function heldRefresh(
  ledger: Pick<LedgerView, "candidateCount" | "foundSince">,
  { name, deletion: { limit } }: { readonly name: string; readonly deletion: Pick<DeletionPolicy, "limit"> },
  now: Date,
): Promise<RefreshHold | null> {
  const found = await foundLately(ledger, now);
  if (found.count === 0) return null;
  return refreshHold(name, found, { limit, owned: await ledger.candidateCount({ kind: "existing" }) });
}

/** What refreshes found in the time in which it counts. */
export const foundLately = (ledger: Pick<LedgerView, "foundSince">, now: Date): Promise<RefreshFindings> =>
  ledger.foundSince(new Date(now.getTime() - LIMIT_PERIOD_MS));

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
