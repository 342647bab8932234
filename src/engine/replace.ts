import type { Replace } from "../core/change.ts";
import type { Outcome } from "../core/outcome.ts";
import type { KnownGroup } from "../ports/ledger.ts";
import { deleteByStoredToken } from "./delete.ts";
import type { Run } from "./run.ts";
import type { Answer, ServiceCalls, Unanswered } from "./service-calls.ts";

/**
 * Deletes a group and creates it anew, under one intent. Once it may be deleted, a GET is sent whatever happens:
 * the tenant is without a group until then. Undefined where the run is ending.
 */
export async function replaceGroup(
  change: Replace,
  before: KnownGroup | null,
  calls: ServiceCalls,
  run: Run,
): Promise<Outcome | undefined> {
  const { user_group_id, group } = change;
  const attempt = await deleteByStoredToken(user_group_id, before, calls, run);
  let unanswered: Unanswered | undefined;
  if (attempt.kind !== "deleted") {
    if (attempt.kind !== "token unknown" && !attempt.mayHaveHappened) return calls.failed(change, attempt);
    // Tells the live token; or that there was no group any more, and now is the right one.
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
  // There is one: the DELETE was not carried out, or this GET has made it and its answer was lost.
  if (unanswered) return calls.failed(change, unanswered);
  return made.mayHaveBeenSent ? replaced(change, made.answer) : notReplaced(change, made.answer);
}

const replaced = (change: Replace, { group: { token, name } }: Answer): Outcome => ({
  kind: "replaced",
  change,
  token,
  serviceName: name,
  unverified: false,
});

const notReplaced = (change: Replace, { group: { token, name } }: Answer): Outcome => ({
  kind: "not_updated",
  change,
  token,
  serviceName: name,
  failure: {
    code: "NOT_REPLACED",
    message: "the service answered that it had deleted the group, and then that it still had it",
  },
});
