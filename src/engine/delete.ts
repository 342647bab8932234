import type { Delete } from "../core/change.ts";
import { type Group, tokenFingerprint } from "../core/group.ts";
import type { Outcome } from "../core/outcome.ts";
import type { KnownGroup } from "../ports/ledger.ts";
import type { Run } from "./run.ts";
import { isTokenRefused, type ServiceCalls, type Unanswered } from "./service-calls.ts";

/**
 * Deletes a group: with its stored token; and where that is unknown or refused, with the one that a GET tells,
 * which may make the group again for that. If the group is known to be deleted and only its token is left, without a
 * call. Undefined where the run is ending.
 */
export async function deleteGroup(
  change: Delete,
  before: KnownGroup | null,
  calls: ServiceCalls,
  run: Run,
): Promise<Outcome | undefined> {
  const { user_group_id } = change;
  if (before?.intent === "remove") return { kind: "deleted", change };
  const attempt = await deleteByStoredToken(user_group_id, before, calls, run);
  if (attempt.kind === "deleted") return { kind: "deleted", change };
  if (attempt.kind !== "token unknown") return calls.failed(change, attempt);

  const confirmed = await run.ledger.confirmed([user_group_id]);
  const group = confirmed.get(user_group_id) ?? bareGroup(user_group_id);
  const dataSourceId = before?.dataSourceId ?? null;
  for (let isLast = false; ; isLast = true) {
    const found = await calls.getOrCreate(group);
    if (found.kind !== "answered") return calls.failed(change, found);
    const { token } = found.answer.group;
    const removed = await calls.remove({ user_group_id, token, dataSourceId });
    if (removed.kind === "answered") return { kind: "deleted", change };
    // Refused after an answer was lost: it is gone, or its token is another one. A GET tells which.
    if (isLast || !isRefusedRepetition(removed)) return calls.failed(change, removed);
  }
}

const isRefusedRepetition = (called: Unanswered): boolean =>
  called.kind === "failed" && called.mayHaveHappened && isTokenRefused(called.failure);

/** What came of a DELETE with the stored token; `token unknown` where there is none to use, or it was refused. */
export type StoredTokenAttempt =
  | { readonly kind: "deleted" }
  | { readonly kind: "token unknown"; readonly mayHaveHappened: boolean }
  | Unanswered;

const UNKNOWN_TOKEN = { kind: "token unknown", mayHaveHappened: false } as const;

/** Deletes a group with the stored token, unless that may be another group's, or this another team. */
export async function deleteByStoredToken(
  user_group_id: string,
  before: KnownGroup | null,
  calls: ServiceCalls,
  { identity, tokens }: Pick<Run, "identity" | "tokens">,
): Promise<StoredTokenAttempt> {
  // In another team there may be a group of the same id: a GET has to show first which team this is.
  if (!identity.confirmed) return UNKNOWN_TOKEN;
  const token = (await tokens.read([user_group_id])).get(user_group_id);
  // Where the service goes by the token alone, one that was copied from another row deletes another group.
  if (token === undefined || before?.tokenFingerprint !== tokenFingerprint(token)) return UNKNOWN_TOKEN;
  const called = await calls.remove({ user_group_id, token, dataSourceId: before.dataSourceId });
  if (called.kind === "answered") return { kind: "deleted" };
  return called.kind === "failed" && isTokenRefused(called.failure)
    ? { kind: "token unknown", mayHaveHappened: called.mayHaveHappened }
    : called;
}

/** Its creation was never confirmed, so nobody has its token: what it is called and shows doesn't matter. */
export const bareGroup = (user_group_id: string): Group => ({
  user_group_id,
  name: user_group_id,
  mapping: {},
  properties: {},
});
