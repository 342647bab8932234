import type { HeldGroups } from "../../core/deletion/removals.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";

/** As many are listed at most. */
const SHOWN = 100;

/** The groups whose removal is held, as their records say. */
export async function heldGroups(
  ledger: Pick<LedgerView, "scope" | "candidates" | "sums">,
): Promise<HeldGroups | null> {
  const { held } = (await ledger.scope()).history;
  const shown = await ledger.candidates({ kind: "held" }, { limit: SHOWN });
  if (shown.length === 0) return null;
  const count = (await ledger.sums({ kind: "held" })).counts.total;
  // A run may have changed groups and code meanwhile, and a code must approve nothing but the groups that are shown with it.
  const isStill = (await ledger.scope()).history.held?.code === held?.code;
  // Between full syncs, a group is released if its tenant is back, but none is held anew: as many means the same groups.
  return {
    count,
    code: isStill && held?.count === count ? held.code : null,
    groups: shown.flatMap(({ user_group_id, held }) => (held ? [{ kind: held, user_group_id }] : [])),
  };
}
