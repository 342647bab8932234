import { isDue } from "../../core/failure/backoff.ts";
import type { Applying } from "../loop/work-through.ts";
import { candidatePages } from "../plan/candidate-pages.ts";
import type { PlanOptions } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { areUnsure } from "../tokens/store-tokens.ts";
import { restoreTokens, type Unrestored } from "./restore-tokens.ts";
import { untrackedWarnings } from "./untracked-tokens.ts";

export interface VerifySettings {
  /** After this time all tokens are due to be verified again. Never, if left out. */
  readonly verifyTokensMs?: number | undefined;
  /** Describes where the tokens are written. */
  readonly tokenDestinations: readonly string[];
}

const NOTHING_TO_RESTORE: Unrestored = { failedGets: new Set(), unaskable: new Set() };

/**
 * Verifies the stored tokens of groups, and restores missing ones. Verifies all groups if the operator asks for that, if that is
 * due, or if the token destinations may lack some tokens, as after a move. Otherwise verifies only groups whose tokens are known to be
 * missing somewhere. A sync of some tenants verifies the tokens of these tenants. If all groups are verified, also warns of
 * stored tokens that belong to no known group.
 */
export async function verifyTokens(
  plan: Plan,
  { only, verifyTokens: isAskedTo = false }: PlanOptions,
  { verifyTokensMs, tokenDestinations }: VerifySettings,
  now: Date,
  run: Applying,
): Promise<Unrestored> {
  if (only !== undefined) return restoreTokens([...only], run);
  const { complete, verifiedAt } = (await run.ledger.scope()).tokens;
  const verifiesAll =
    complete === null ||
    isAskedTo ||
    (verifyTokensMs !== undefined && isVerificationDue(verifyTokensMs, verifiedAt, now));
  if (!verifiesAll) {
    // Don't ask the ledger for groups whose tokens are missing if none can be: that question reads all groups.
    const { returned, settled, change_dropped } = plan.counts;
    const mayBeBack = returned + settled + change_dropped > 0;
    if (plan.owing === 0 && !mayBeBack) return NOTHING_TO_RESTORE;
    const at = run.clock.now();
    return restoreTokens("not everywhere", run, (page) =>
      page.filter(({ failures }) => isDue(failures.storing, at)),
    );
  }
  for (const warning of await untrackedWarnings(plan, run)) run.observe(warning);
  const unrestored = await restoreTokens("all", run);
  if (!run.signal.aborted)
    await run.ledger.write(run.lease, (transaction) =>
      transaction.recordScope({ tokens: { complete: complete ?? tokenDestinations, verifiedAt: now } }),
    );
  return unrestored;
}

/**
 * If this run has taken the lease over from a process that died, verifies the tokens that the process may have been storing, once its last
 * requests are over.
 */
export async function verifyAfterTakeover(run: Applying): Promise<void> {
  const { ledger, lease, tokens, clock, observe, signal } = run;
  if (lease.unsureUntil === null || !tokens.outside) return;
  let isAny = false;
  for await (const page of candidatePages(ledger, { kind: "vouched", of: "not everywhere" }))
    isAny ||= page.some(areUnsure);
  if (!isAny || signal.aborted) return;
  const ms = lease.unsureUntil - clock.monotonic();
  if (ms > 0) observe({ kind: "waiting", ms, reason: "a process that died may have sent tokens late" });
  await clock.sleep(Math.max(0, ms), signal);
  await restoreTokens("not everywhere", run, (page) => page.filter(areUnsure));
}

/**
 * Whether it is time to read every token in every store again, `everyMs` after all were read last (`verifiedAt`). A time in
 * the future tells nothing: a clock was wrong.
 */
function isVerificationDue(everyMs: number, verifiedAt: Date | null, now: Date): boolean {
  if (verifiedAt === null || verifiedAt > now) return true;
  return now.getTime() - verifiedAt.getTime() >= everyMs;
}
