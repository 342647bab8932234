import type { Outcome } from "../../core/apply/outcome.ts";
import type { Replace } from "../../core/plan/change.ts";
import type { GetAnswer } from "../../ports/group-service.ts";
import type { KnownGroup } from "../../ports/ledger/groups.ts";
import type { ServiceCalls, Unanswered } from "../service/service-calls.ts";
import { deleteByStoredToken, type StoredTokens } from "./delete-group.ts";

/**
 * Deletes a group and creates it again, under one intent. Once the group may be deleted, the creating GET is sent even if
 * the run is ending, because the tenant has no group until then. Resolves to undefined if the run is ending.
 */
export async function replaceGroup(
  change: Replace,
  before: KnownGroup | null,
  calls: ServiceCalls,
  run: StoredTokens,
): Promise<Outcome | undefined> {
  const { user_group_id, group } = change;
  const attempt = await deleteByStoredToken(user_group_id, before, calls, run);
  let unanswered: Unanswered | undefined;
  if (attempt.kind !== "deleted") {
    if (attempt.kind !== "token unknown" && !attempt.mayHaveHappened) return calls.failed(change, attempt);
    // This GET returns the live token. If the group was gone, the GET creates it as wanted.
    const found = await calls.getOrCreate(group, { isFollowUp: attempt.mayHaveHappened });
    if (found.kind !== "answered") return calls.failed(change, found);
    if (found.answer.isNew) return replaced(change, found.answer);
    const { token } = found.answer.group;
    const removed = await calls.remove({ user_group_id, token, dataSourceId: before?.dataSourceId ?? null });
    if (removed.kind !== "answered") unanswered = removed;
    if (unanswered?.mayHaveHappened === false) return calls.failed(change, unanswered);
  }
  const made = await calls.getOrCreate(group, { isFollowUp: true });
  if (made.kind !== "answered") return calls.failed(change, made);
  if (made.answer.isNew) return replaced(change, made.answer);
  // The group exists: either the DELETE had no effect, or an earlier attempt at this GET created it and its answer was lost.
  if (unanswered) return calls.failed(change, unanswered);
  return made.mayHaveBeenSent ? replaced(change, made.answer) : notReplaced(change, made.answer);
}

const replaced = (change: Replace, { group: { token, name } }: GetAnswer): Outcome => ({
  kind: "replaced",
  change,
  token,
  serviceName: name,
  unverified: false,
});

const notReplaced = (change: Replace, { group: { token, name } }: GetAnswer): Outcome => ({
  kind: "not_updated",
  change,
  token,
  serviceName: name,
  isUnknownState: false,
  wasRemoved: false,
  failure: {
    code: "NOT_REPLACED",
    message: "the service answered that it had deleted the group, and then that it still had it",
  },
});
