import { intendsRemoval } from "../../core/group/ledger-group.ts";
import { confirmedGroup } from "../../core/record/candidates.ts";
import { HELD_ALREADY, holding } from "../lease/keys.ts";
import type { Applying } from "../loop/work-through.ts";
import { askForTokens } from "./restore-tokens.ts";

/**
 * Settles rotations and updates that an earlier run left under way and that this run's plan doesn't continue, for example
 * because the row is rejected now. The stored token may be dead, so a GET asks for the live token. The GET sends the group
 * as the service last confirmed it, which settles the update as well. Resolves to the groups whose GET failed; the failures
 * were reported.
 */
export async function settleRotations(left: readonly string[], run: Applying): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const settle = async (user_group_id: string): Promise<void> => {
    const record = (await run.ledger.records([user_group_id])).get(user_group_id);
    // Settled since the plan was made, for example by a removal.
    if (!record?.intent || intendsRemoval(record.intent)) return;
    const confirmed = confirmedGroup(record);
    if (confirmed === null) return;
    const asked = await askForTokens([{ user_group_id, confirmed }], { ...run, keys: HELD_ALREADY });
    for (const id of asked) failed.add(id);
  };
  for (const id of left) {
    if (run.signal.aborted) break;
    await holding(run.keys, [id], () => settle(id));
  }
  return failed;
}
