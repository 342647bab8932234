import type { Outcome } from "../../core/apply/outcome.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { type Group, tokenFingerprint } from "../../core/group/group.ts";
import { isCanary } from "../../core/group/ledger-group.ts";
import type { Delete, Replace } from "../../core/plan/change.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { GetAnswer } from "../../ports/group-service.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { isTokenRefused, type ServiceCalls, type Unanswered } from "../service/service-calls.ts";
import type { ServiceIdentity } from "../service/service-identity.ts";

/** What a DELETE with the stored token needs. */
interface StoredTokens {
  readonly tokens: Pick<TokenStore, "read">;
  readonly identity: Pick<ServiceIdentity, "baseUrl" | "confirmed">;
  readonly signal: AbortSignal;
}

/**
 * Deletes a group with its stored token. If nobody knows whether that token is live, or the service refuses it, a GET returns the
 * live token. If the group was gone, that GET creates it again, and the DELETE then removes it. No call is made if the service has
 * deleted the group already and only its stored token is left. Resolves to undefined if the run is ending.
 */
export async function deleteGroup(
  change: Delete,
  before: GroupRecord | null,
  calls: ServiceCalls,
  run: StoredTokens,
): Promise<Outcome | undefined> {
  const { user_group_id } = change;
  if (before?.intent === "remove") return { kind: "deleted", change };
  const canaryAt = before?.canaryAt ?? run.identity.baseUrl;
  if (canaryAt !== run.identity.baseUrl)
    return {
      kind: "failed",
      change,
      failure: canaryElsewhere(user_group_id, canaryAt),
      mayHaveHappened: true,
    };
  const attempt = await deleteByStoredToken(user_group_id, before, calls, run);
  if (attempt.kind === "deleted") return { kind: "deleted", change };
  if (attempt.kind !== "token unknown") return calls.failed(change, attempt);

  const group = before?.confirmed ?? bareGroup(user_group_id);
  const ofCanary = before !== null && isCanary(before);
  for (let isLast = false; ; isLast = true) {
    const found = await calls.getOrCreate(group);
    if (found.kind !== "answered") return calls.failed(change, found);
    const { token } = found.answer.group;
    // Perhaps the service wants a data source. No DELETE of a canary may name a real one.
    const dataSourceId = ofCanary && isLast ? user_group_id : (before?.dataSourceId ?? null);
    const removed = await calls.remove({ user_group_id, token, dataSourceId });
    if (removed.kind === "answered") return { kind: "deleted", change };
    // An attempt whose answer was lost may have deleted the group, or the token has changed. A GET tells which.
    const mayGoOn = ofCanary ? removed.kind === "failed" : isRefusedRepetition(removed);
    if (isLast || !mayGoOn) return calls.failed(change, removed);
  }
}

/** Another service would make the canary first, and then delete that one. */
const canaryElsewhere = (id: string, baseUrl: string): Failure => ({
  code: "CANARY_REMAINS",
  message: `a probe has made this group at ${baseUrl}, which is not service.base_url any more; delete it there by hand, and run groupsync probe --forget ${id}`,
});

const isRefusedRepetition = (called: Unanswered): boolean =>
  called.kind === "failed" && called.mayHaveHappened && isTokenRefused(called.failure);

/** The result of a DELETE with the stored token; `token unknown` if no token is usable, or the service refused it. */
type StoredTokenAttempt =
  | { readonly kind: "deleted" }
  | { readonly kind: "token unknown"; readonly mayHaveHappened: boolean }
  | Unanswered;

const UNKNOWN_TOKEN = { kind: "token unknown", mayHaveHappened: false } as const;

/**
 * Deletes a group with the stored token, unless that token may be dead or belong to another group, or the API key to another
 * team.
 */
async function deleteByStoredToken(
  user_group_id: string,
  before: GroupRecord | null,
  calls: ServiceCalls,
  run: StoredTokens,
): Promise<StoredTokenAttempt> {
  const { identity, tokens, signal } = run;
  // Another team may have a group with the same id, so a GET has to show first which team this API key belongs to.
  if (!identity.confirmed) return UNKNOWN_TOKEN;
  // A call that is under way, or that the ledger has forgotten, may have ended the stored token, and nobody knows what a service
  // answers to a dead one.
  if (before?.intent || before?.doubt) return UNKNOWN_TOKEN;
  const stored = await tokens.read([user_group_id], signal);
  const token = stored.get(user_group_id);
  // Some services identify the group by its token alone: a token copied from another row would delete another group.
  if (token === undefined || before?.tokenFingerprint !== tokenFingerprint(token)) return UNKNOWN_TOKEN;
  const called = await calls.remove({ user_group_id, token, dataSourceId: before.dataSourceId });
  if (called.kind === "answered") return { kind: "deleted" };
  return called.kind === "failed" && isTokenRefused(called.failure)
    ? { kind: "token unknown", mayHaveHappened: called.mayHaveHappened }
    : called;
}

/** What to send for a group that was never confirmed. No application has its token, so its name and contents don't matter. */
const bareGroup = (user_group_id: string): Group => ({
  user_group_id,
  name: user_group_id,
  mapping: {},
  properties: {},
});

/**
 * Deletes a group and creates it again, under one intent. Once the group may be deleted, the creating GET is sent even if
 * the run is ending, because the tenant has no group until then. Resolves to undefined if the run is ending.
 */
export async function replaceGroup(
  change: Replace,
  before: GroupRecord | null,
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

const replaced = (change: Replace, { isNew, group: { token, name } }: GetAnswer): Outcome => ({
  kind: "replaced",
  isNew,
  change,
  token,
  serviceName: name,
  unverified: false,
});

const notReplaced = (change: Replace, { isNew, group: { token, name } }: GetAnswer): Outcome => ({
  kind: "not_updated",
  isNew,
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
