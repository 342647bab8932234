import type { EventOf } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { TokenWriting } from "./retry-batch.ts";

const UNSURE =
  "a process died while it may have stored a token of this group; the copies are looked at once its last requests are over";

/**
 * What follows the outcome of a call. If a process died while the call was under way, a request that it has sent to a store outside of
 * the ledger's database may still take effect, and put an older token there. So the copies have to be looked at later. `before` is
 * the record from before this run's call.
 */
export function copiesUnsure(
  before: Pick<GroupRecord, "user_group_id" | "intent"> | null,
  { tokens, lease: { unsureUntil } }: Pick<TokenWriting, "tokens" | "lease">,
): EventOf[] {
  if (!before || before.intent === null || !tokens.outside || unsureUntil === null) return [];
  const failure = { code: "TOKEN_NOT_EVERYWHERE", message: UNSURE, count: 1, retryAt: unsureUntil };
  return [{ kind: "storing_ended", user_group_id: before.user_group_id, failure }];
}

/** Whether nothing is wrong with the group's copies, as far as anybody knows, but they have to be looked at. */
export const areUnsure = ({ failures: { storing } }: Pick<GroupRecord, "failures">): boolean =>
  storing?.message === UNSURE;
