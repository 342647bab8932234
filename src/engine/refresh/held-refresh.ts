import { type FoundGone, type RefreshHold, refreshHold } from "../../core/drift/refresh.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS } from "../../core/plan/deletion-policy.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";

interface Guarded {
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly deletion: Pick<DeletionPolicy, "limit">;
}

/** Why a refresh that began now would be held; null if it wouldn't be. */
export async function heldRefresh(
  ledger: Pick<LedgerView, "goneSince" | "existingCount">,
  { name, deletion: { limit } }: Guarded,
  now: Date,
): Promise<RefreshHold | null> {
  const gone = await goneLately(ledger, now);
  if (gone.count === 0) return null;
  return refreshHold(name, gone, { limit, owned: await ledger.existingCount({}) });
}

/** The groups that refreshes found gone in the time in which they count. */
export const goneLately = (ledger: Pick<LedgerView, "goneSince">, now: Date): Promise<FoundGone> =>
  ledger.goneSince(new Date(now.getTime() - LIMIT_PERIOD_MS));
