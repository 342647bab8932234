import { isFoundGone } from "../../core/apply/outcome.ts";
import {
  describeHeldRefresh,
  exceedsLimit,
  holdFor,
  type RefreshHold,
} from "../../core/drift/refresh-guard.ts";
import { syncIntervalMs } from "../../core/drift/refresh-share.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import type { PlanOptions } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { lastSyncs } from "./due-for-refresh.ts";
import { groupsToAsk } from "./groups-to-ask.ts";
import { goneLately } from "./held-refresh.ts";
import { isRefreshing, type RefreshSettings, startOfRefresh } from "./refresh-start.ts";

/** The time that a refresh may take, as a part of the time between two syncs. */
const PART_OF_INTERVAL = 0.5;

/**
 * Asks the service for groups about which nothing else is to be done, and heals what somebody else has changed there. A sync
 * of all tenants asks for the share that is due by `service.refresh`; `options.refresh` asks for all groups of the plan's
 * tenants. The GETs are updates that send each group as the service confirmed it.
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
  const { ledger, clock, signal, tally, observe, identity } = run;
  if (signal.aborted || !isRefreshing(plan, options, settings)) return;
  const asksForAll = options.refresh === true;
  const { at: now } = plan.reading;
  // Nothing is known of a time that is yet to come.
  await ledger.write(run.lease, (transaction) =>
    transaction.redateVerified({ now: clock.now(), as: new Date(now.getTime() - 1) }),
  );
  // The newest of them is this sync.
  const earlier = asksForAll ? [] : (await lastSyncs(ledger, now, settings.refresh)).slice(1);
  const { updates } = identity;
  const start = await startOfRefresh(plan, options, settings, { ledger, updates, earlier });
  if (start === null) return;
  if (start.unsafe) return observe(start.unsafe);
  const { due, limit } = start;
  const isApproved = isApprovedBy(options.refreshApproval, start.hold, run);
  const hold = (by: RefreshHold, count: number): void => {
    const held = describeHeldRefresh(by, count);
    tally.refreshHold = held;
    tally.report(null, held);
    observe({ kind: "held", ...held });
  };
  if (start.hold && !isApproved) return hold(start.hold, due);

  const ending = new AbortController();
  const asked = { groups: 0, gone: start.gone };
  let isHeld = false;
  const changes = groupsToAsk(plan, { before: now, of: options.only, most: due }, ledger);
  observe({ kind: "refreshing", groups: due });
  const budget = new AbortController();
  if (!asksForAll)
    void clock
      .sleep(syncIntervalMs(now, earlier) * PART_OF_INTERVAL, budget.signal)
      .then(() => ending.abort());
  try {
    await applyChanges(
      changes,
      // Nobody else repeats these calls: a look at the tenant would send none.
      { ...run, handOn: undefined },
      {
        until: ending.signal,
        answered: (outcome) => {
          asked.groups++;
          if (isFoundGone(outcome)) asked.gone++;
          if (isApproved || !exceedsLimit(asked.gone, limit)) return;
          isHeld = true;
          ending.abort();
        },
      },
    );
  } finally {
    budget.abort();
  }
  if (isHeld) {
    const gone = await goneLately(ledger, now);
    return hold(holdFor(settings.name, gone, limit), Math.max(0, due - asked.groups));
  }
  if (isApproved && !signal.aborted)
    await ledger.write(run.lease, (transaction) => transaction.approveRefresh(clock.now()));
}

/** Whether the operator's code lets the refresh go on although too many groups were gone. Reports a code that doesn't. */
function isApprovedBy(
  approval: string | undefined,
  hold: RefreshHold | null,
  { tally, observe }: Applying,
): boolean {
  if (approval === undefined) return false;
  if (hold === null) {
    observe({
      kind: "warning",
      code: "APPROVAL_NOT_NEEDED",
      message: "a code for the refresh was given, but no refresh is held",
      hint: "a code is good once, and only for the refresh that it was shown with",
    });
    return false;
  }
  if (approval === hold.approval) return true;
  const refusal = {
    code: "APPROVAL_MISMATCH",
    message: "the given code doesn't match the refresh that is held now",
  };
  tally.report(null, refusal);
  observe({ kind: "warning", ...refusal, hint: "another group was found gone since the code was shown" });
  return false;
}
