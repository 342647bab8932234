import type { Outcome } from "../../core/apply/outcome.ts";
import { msUntilAsked, REPEATED_AFTER } from "../../core/drift/sign-of-life.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import type { PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { Breaker } from "../service/breaker.ts";
import { groupsToAsk } from "./groups-to-ask.ts";
import { heldRefresh } from "./held-refresh.ts";
import { unsafeToAsk } from "./unsafe-to-ask.ts";

/**
 * If the service has answered nobody for an hour, asks for the group of this plan that was verified longest ago, as a refresh
 * does: what the GET finds is healed, counted and told. If there is no such group, or no refresh may ask, sends a POST with
 * a token that no group has. Rejects if the service fails three times. If it refuses the group alone, that group fails,
 * and the service lives.
 */
export async function seekSignOfLife(
  plan: Plan | undefined,
  of: ReadonlySet<string> | undefined,
  settings: Pick<PlanSettings, "name" | "update" | "deletion">,
  run: Applying,
): Promise<void> {
  const { identity, ledger, clock, lease, signal } = run;
  if (msUntilAsked(identity, clock.now()) > 0) return;
  const group =
    plan && (await mayAsk(plan, settings, run))
      ? await firstOf(groupsToAsk(plan, { since: plan.reading.at, of, most: 1 }, run))
      : undefined;
  if (signal.aborted) return;
  if (group) {
    // The first failure that is not of this group alone ends the run.
    const breakers = { ...run.breakers, GET: new Breaker(true, 1) };
    const asking = { ...run, breakers, repeatedAfter: REPEATED_AFTER, handOn: undefined };
    let isRefused = false;
    const answered = (outcome: Outcome): void => {
      isRefused = outcome.kind === "failed" && outcome.failure.code === "REFUSED";
    };
    await applyChanges(only(group), asking, { answered });
    // Any other answer is recorded with its group.
    if (!isRefused) return;
  } else if (!(await run.neutral.signOfLife(REPEATED_AFTER, signal))) return;
  const at = clock.now();
  identity.answered(at);
  await ledger.write(lease, (transaction) => transaction.recordAnswer(at));
  identity.answerRecorded(at);
  run.observe({ kind: "answered", at });
}

/** Without a valid row, nobody knows which tenants are present. */
async function mayAsk(
  { isWhole, conclusive }: Plan,
  { name, update, deletion }: Pick<PlanSettings, "name" | "update" | "deletion">,
  { identity, ledger, clock }: Applying,
): Promise<boolean> {
  if ((isWhole && !conclusive) || unsafeToAsk(update, identity.updates)) return false;
  return (await heldRefresh(ledger, { name, deletion }, clock.now())) === null;
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item;
  return undefined;
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item;
}
