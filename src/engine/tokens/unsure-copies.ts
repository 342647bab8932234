import type { EventOf } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { TokenWriting } from "./token-writing.ts";

const MESSAGE =
  "a process died that may have been storing a token of this group; the stored copies are checked once its requests have ended";

/**
 * What to record beside the outcome of a call. If a process died during an earlier call for the group, its request to a store
 * outside of the ledger's database may still take effect, and put an older token there. So the copies have to be checked later.
 * `before` is the record from before this run's call.
 */
export function copiesUnsure(
  before: Pick<GroupRecord, "user_group_id" | "intent"> | null,
  { tokens, lease: { unsureUntil } }: Pick<TokenWriting, "tokens" | "lease">,
): EventOf[] {
  if (!before || before.intent === null || !tokens.outside || unsureUntil === null) return [];
  const failure = { code: "TOKEN_UNSURE", message: MESSAGE, count: 1, retryAt: unsureUntil };
  return [{ kind: "storing_ended", user_group_id: before.user_group_id, failure }];
}

/** Whether a process that died may have been storing a token of the group. */
export const areUnsure = ({ failures: { storing } }: Pick<GroupRecord, "failures">): boolean =>
  storing?.code === "TOKEN_UNSURE";
