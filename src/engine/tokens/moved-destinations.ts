import type { Warning } from "../../ports/observer.ts";
import type { TokenWriting } from "./token-writing.ts";

/** Whether two configs name the same token destinations. Each is told by one line of words, and the lines are sorted. */
export const areSameDestinations = (former: readonly string[], present: readonly string[]): boolean =>
  former.length === present.length && former.every((line, index) => line === present[index]);

/**
 * If the config names other token destinations than the last run's, or if one of them has lost all its tokens, warns, and
 * clears the ledger's record of complete destinations. The record is cleared before any token is written, because an
 * interrupted run must not leave it set.
 */
export async function detectIncompleteDestinations(
  present: readonly string[],
  run: Pick<TokenWriting, "ledger" | "lease" | "tokens" | "observe">,
): Promise<void> {
  const { ledger, lease, tokens, observe } = run;
  // A run that stores no tokens moves none.
  if (tokens.destinations.length === 0) return;
  const { complete: former } = (await ledger.scope()).tokens;
  if (former === null) return;
  const warning = areSameDestinations(former, present)
    ? await lostWarning(run)
    : movedWarning(former, present);
  if (warning === undefined) return;
  await ledger.write(lease, (transaction) => transaction.recordScope({ tokens: { complete: null } }));
  observe(warning);
}

function movedWarning(former: readonly string[], present: readonly string[]): Warning {
  const shown = (all: readonly string[]): string => all.join(", and to ");
  return {
    kind: "warning",
    code: "TOKENS_MOVED",
    message: `tokens went to ${shown(former)}; from now on they go to ${shown(present)}`,
    hint: "a sync looks for every token there, and writes those that are missing; tokens in a place that the config no longer names stay there, and are yours to remove",
  };
}

/** How many groups to ask about a token that an empty destination should have. */
const SAMPLE = 100;

/**
 * Undefined if each destination has some token, or if none should be there: the ledger knows of no group at rest, or it knows
 * already that these tokens are missing, and each is tried again with growing delays.
 */
async function lostWarning({
  ledger,
  tokens,
}: Pick<TokenWriting, "ledger" | "tokens">): Promise<Warning | undefined> {
  const some = await ledger.candidates({ kind: "vouched", of: "all" }, { limit: SAMPLE });
  const expected = some
    .filter(({ failures }) => failures.storing === null)
    .map(({ user_group_id }) => user_group_id);
  if (expected.length === 0) return undefined;
  const empty: string[] = [];
  for (const destination of tokens.destinations)
    if (!(await destination.holdsAny(expected))) empty.push(destination.title);
  if (empty.length === 0) return undefined;
  return {
    kind: "warning",
    code: "TOKENS_LOST",
    message: `${empty.join(" and ")} ${empty.length === 1 ? "has" : "have"} lost all tokens of the groups that the ledger knows`,
    hint: "a sync writes each token there again: from another store that has it, else by a GET",
  };
}
