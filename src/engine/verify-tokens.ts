import { isDue } from "../core/backoff.ts";
import type { VouchedToken } from "../ports/ledger.ts";
import type { PlanOptions } from "./plan-run.ts";
import { restoreTokens } from "./restore.ts";
import type { Run } from "./run.ts";

/**
 * Sees to the tokens of groups that a sync leaves as they are: of all where it is asked to, or where the places that they
 * go to may not have all of them; else of those that are known not to be everywhere. A sync of some tenants sees to theirs.
 */
export async function verifyTokens(
  { only, verifyTokens: isAskedTo = false }: PlanOptions,
  places: readonly string[],
  run: Run,
): Promise<void> {
  if (only !== undefined) return restoreTokens([...only], run);
  const haveMoved = (await run.ledger.tokenPlaces()) === null;
  if (haveMoved || isAskedTo) await restoreTokens("all", run);
  else await restoreTokens("not everywhere", run, (entry) => isItsTurn(entry, run));
  if (haveMoved && !run.signal.aborted)
    await run.ledger.write(run.lease, (transaction) => transaction.keepTokenPlaces(places));
}

/** One whose turn it isn't is reported all the same: its tenant may be locked out somewhere. */
function isItsTurn({ user_group_id, failure }: VouchedToken, { clock, tally }: Run): boolean {
  if (failure === null || isDue(failure.retryAt, clock.now())) return true;
  const { code, message, retryAt } = failure;
  tally.counts.failed++;
  tally.report(user_group_id, { code, message: `${message} (next try after ${retryAt.toISOString()})` });
  return false;
}
