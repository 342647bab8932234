import { isDue } from "../core/backoff.ts";
import type { VouchedToken } from "../ports/ledger.ts";
import type { Plan } from "./plan.ts";
import type { PlanOptions } from "./plan-run.ts";
import { restoreTokens, type Unrestored } from "./restore.ts";
import type { Run } from "./run.ts";
import { untrackedWarnings } from "./untracked.ts";

/**
 * Sees to the tokens of groups that a sync leaves as they are: of all where it is asked to, or where the places that they
 * go to may not have all of them; else of those that are known not to be everywhere. A sync of some tenants sees to theirs.
 * Where it looks at all, it warns of tokens that belong to none of the groups.
 */
export async function verifyTokens(
  plan: Plan,
  { only, verifyTokens: isAskedTo = false }: PlanOptions,
  places: readonly string[],
  run: Run,
): Promise<Unrestored> {
  if (only !== undefined) return restoreTokens([...only], run);
  const mayBeIncomplete = (await run.ledger.tokenPlaces()) === null;
  const looksAtAll = mayBeIncomplete || isAskedTo;
  if (looksAtAll) for (const warning of await untrackedWarnings(plan, run)) run.observe(warning);
  const unrestored = looksAtAll
    ? await restoreTokens("all", run)
    : await restoreTokens("not everywhere", run, (page) => dueOf(page, run));
  if (mayBeIncomplete && !run.signal.aborted)
    await run.ledger.write(run.lease, (transaction) => transaction.recordTokenPlaces(places));
  return unrestored;
}

/** Those that are not due are reported all the same: their tenants may be locked out somewhere. */
function dueOf(page: readonly VouchedToken[], { clock, tally }: Run): readonly VouchedToken[] {
  const now = clock.now();
  return page.filter(({ user_group_id, failure }) => {
    if (failure === null || isDue(failure.retryAt, now)) return true;
    tally.waits(user_group_id, failure);
    return false;
  });
}
