import { isFoundGone, type Outcome } from "../../core/apply/outcome.ts";
import { describeHeldRefresh, type RefreshHold } from "../../core/drift/refresh.ts";
import type { Change } from "../../core/plan/change.ts";
import type { Warning } from "../../ports/observer.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import type { PlanOptions } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { groupsToAsk } from "./groups-to-ask.ts";
import { heldRefresh } from "./held-refresh.ts";
import { type RefreshSettings, type RefreshStart, startOfRefresh } from "./refresh-start.ts";

/**
 * Asks the service for groups about which nothing else is to be done, and heals what somebody else has changed there. Each sync
 * asks for the groups in doubt, and a sync of all tenants for the share that is due by `service.refresh`; `options.refresh` asks
 * for all groups of the plan's tenants. The GETs are updates that send each group as the service confirmed it.
 *
 * A GET makes a group again that is gone. So once more groups were gone than `deletion.limit` allows, no further GET is sent,
 * and the refresh is held. Rejects if the run has to end.
 */
export async function refreshGroups(
  plan: Plan,
  options: PlanOptions,
  settings: RefreshSettings,
  run: Applying,
): Promise<void> {
  const { ledger, clock, signal, observe } = run;
  if (signal.aborted) return;
  const known = { ledger, updates: run.identity.updates, now: clock.now(), isRecorded: true };
  const start = await startOfRefresh(plan, options, settings, known);
  const isApproved = isApprovedBy(options.refreshApproval, start?.hold ?? null, run);
  if (start === null) return;
  if (start.unsafe) {
    // The operator asked for what is not done: say so in the outcome, too.
    if (options.refresh) reportUnsafe(start.unsafe, start.due, run);
    return observe(start.unsafe);
  }
  if (start.hold && !isApproved) return reportHold(start.hold, start.due, run);

  observe({ kind: "refreshing", groups: start.due });
  const unverified = { since: plan.reading.at, of: options.only, most: start.due };
  const asked = await ask(
    groupsToAsk(plan, unverified, run),
    isApproved ? { ...start, mayBeGone: Number.POSITIVE_INFINITY } : start,
    run,
  );
  if (signal.aborted) return;
  if (isApproved) return ledger.write(run.lease, (transaction) => transaction.approveRefresh(clock.now()));
  const hold = await heldRefresh(ledger, settings, clock.now());
  if (hold) reportHold(hold, start.due - asked, run);
}

/** Sends the GETs until the time is over or too many groups are gone. Resolves to how many groups were asked for. */
async function ask(
  changes: AsyncIterable<Change>,
  { withinMs, mayBeGone }: Pick<RefreshStart, "withinMs" | "mayBeGone">,
  run: Applying,
): Promise<number> {
  const timeIsUp = new AbortController();
  const tooManyGone = new AbortController();
  if (withinMs !== null) void run.clock.sleep(withinMs, timeIsUp.signal).then(() => timeIsUp.abort());
  let asked = 0;
  let gone = 0;
  const answered = (outcome: Outcome): void => {
    asked++;
    if (isFoundGone(outcome)) gone++;
    if (gone > mayBeGone) tooManyGone.abort();
  };
  try {
    // Nobody else repeats these calls: a lookup of the tenant would send none.
    const ending = { until: timeIsUp.signal, stop: tooManyGone.signal };
    await applyChanges(changes, run, { ...ending, answered });
  } finally {
    timeIsUp.abort();
  }
  return asked;
}

/** Whether the operator's code lets the refresh go on although too many groups were gone. Reports a code that doesn't. */
function isApprovedBy(
  approval: string | undefined,
  hold: RefreshHold | null,
  { tally, observe }: Applying,
): boolean {
  if (approval === undefined) return false;
  if (hold === null) {
    const unneeded = {
      code: "APPROVAL_NOT_NEEDED",
      message:
        "a code for the refresh was given, but no refresh is held; a code is good once, and only for the refresh that it was shown with",
    };
    tally.report(null, unneeded);
    observe({ kind: "warning", ...unneeded });
    return false;
  }
  if (approval === hold.approval) return true;
  const refusal = {
    code: "APPROVAL_MISMATCH",
    message: "the given code doesn't match the refresh that is held now",
  };
  tally.report(null, refusal);
  observe({
    kind: "warning",
    ...refusal,
    hint: "take the code that is shown now: it changes with each group that is found gone",
  });
  return false;
}

/** `count` groups were to be asked for, and were not. */
function reportUnsafe(unsafe: Warning, count: number, { tally }: Applying): void {
  tally.counts.failed += count;
  tally.report(null, unsafe);
}

/** `count` groups were to be asked for, and were not. */
function reportHold(hold: RefreshHold, count: number, { tally, observe }: Applying): void {
  const held = describeHeldRefresh(hold, count);
  tally.refreshHold = held;
  tally.report(null, held);
  observe({ kind: "held", ...held });
}
