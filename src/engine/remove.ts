import type { Delete } from "../core/decide.ts";
import type { Group } from "../core/group.ts";
import type { Outcome } from "../core/outcome.ts";
import type { KnownGroup } from "../ports/ledger.ts";
import type { Run } from "./run.ts";
import { isTokenRefused, type ServiceCalls, type Unanswered } from "./service-calls.ts";

/**
 * Deletes a group: with its stored token; and where that is unknown or refused, with the one that a GET tells,
 * which may make the group again for that. Undefined where the run is ending.
 */
export async function removeGroup(
  change: Delete,
  before: KnownGroup | null,
  calls: ServiceCalls,
  run: Run,
): Promise<Outcome | undefined> {
  const { user_group_id } = change;
  const dataSourceId = before?.dataSourceId ?? null;
  const attempt = await removeByStoredToken({ user_group_id, dataSourceId }, calls, run);
  if (attempt.kind === "removed") return { kind: "deleted", change };
  if (attempt.kind !== "token unknown") return calls.failed(change, attempt);

  const confirmed = await run.ledger.confirmed([user_group_id]);
  const found = await calls.getOrCreate(confirmed.get(user_group_id) ?? bareGroup(user_group_id));
  if (found.kind !== "answered") return calls.failed(change, found);
  const { token } = found.answer.group;
  const removed = await calls.remove({ user_group_id, token, dataSourceId });
  return removed.kind === "answered" ? { kind: "deleted", change } : calls.failed(change, removed);
}

/** How far the stored token leads. */
export type StoredTokenAttempt =
  | { readonly kind: "removed" }
  | { readonly kind: "token unknown" }
  | Unanswered;

export async function removeByStoredToken(
  group: { readonly user_group_id: string; readonly dataSourceId: string | null },
  calls: ServiceCalls,
  { identity, tokens }: Pick<Run, "identity" | "tokens">,
): Promise<StoredTokenAttempt> {
  // In another team there may be a group of the same id: a GET has to show first which team this is.
  if (!identity.confirmed) return { kind: "token unknown" };
  const token = (await tokens.read([group.user_group_id])).get(group.user_group_id);
  if (token === undefined) return { kind: "token unknown" };
  const called = await calls.remove({ ...group, token });
  if (called.kind === "answered") return { kind: "removed" };
  return called.kind === "failed" && isTokenRefused(called.failure) ? { kind: "token unknown" } : called;
}

/** Its creation was never confirmed, so nobody has its token: what it is called and shows doesn't matter. */
const bareGroup = (user_group_id: string): Group => ({
  user_group_id,
  name: user_group_id,
  mapping: {},
  properties: {},
});
