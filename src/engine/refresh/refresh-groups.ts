import { foundByRefresh, type Outcome } from "../../core/apply/outcome.ts";
import { describeHeldRefresh, type RefreshHold } from "../../core/drift/refresh.ts";
import { type Applying, type Work, workThrough } from "../loop/work-through.ts";
import type { PlanOptions } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { groupsToAsk, refreshOf } from "./groups-to-ask.ts";
import { approveFound, heldRefresh } from "./held-refresh.ts";
import { type RefreshSettings, type RefreshStart, startOfRefresh } from "./refresh-start.ts";

/**
 * Asks the service for groups about which nothing else is to be done, and heals what somebody else has changed there. Each sync
 * asks for the groups in doubt, and a sync of all tenants for the share that is due by `service.refresh`. The GETs are updates
 * that send each group as the service confirmed it.
 *
 * A GET makes a group again that is gone, and may bring the token of another service's group. So once more groups were gone or
 * had other tokens than `deletion.limit` allows, no further GET is sent, and the refresh is held. Not so for groups in doubt after
 * the ledger went back in time: their tenants may be locked out until their tokens are stored. Rejects if the run has to end.
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
  if (start.unsafe) return observe(start.unsafe);
  const isHeld = start.hold !== null && !isApproved;
  if (!isHeld) observe({ kind: "refreshing", groups: start.due });
  const which = { since: plan.reading.at, of: options.only, most: start.share, onlyAfterRewind: isHeld };
  const mayBeFound = isApproved ? Number.POSITIVE_INFINITY : Math.max(0, start.mayBeFound);
  const asked = await ask(groupsToAsk(plan, which, run), which.since, { ...start, mayBeFound }, run);
  if (signal.aborted) return;
  if (isApproved) return approveFound(run);
  const hold = await heldRefresh(ledger, settings, clock.now());
  if (hold) reportHold(hold, start.due - asked, run);
}

/** Sends the GETs until the time is over or too many groups are gone or have other tokens. Resolves to how many groups were asked for. */
async function ask(
  ids: AsyncIterable<string>,
  since: Date,
  { withinMs, mayBeFound }: Pick<RefreshStart, "withinMs" | "mayBeFound">,
  run: Applying,
): Promise<number> {
  const timeIsUp = new AbortController();
  const tooManyFound = new AbortController();
  if (withinMs !== null) void run.clock.sleep(withinMs, timeIsUp.signal).then(() => timeIsUp.abort());
  let asked = 0;
  let found = 0;
  const answered = (outcome: Outcome): void => {
    asked++;
    if (foundByRefresh(outcome)) found++;
    if (found > mayBeFound) tooManyFound.abort();
  };
  async function* gets(): AsyncGenerator<Work> {
    for await (const id of ids) yield refreshOf(id, since, run, answered);
  }
  try {
    // Nobody else repeats these calls: a lookup of the tenant would send none.
    await workThrough(gets(), run, { until: timeIsUp.signal, stop: tooManyFound.signal });
  } finally {
    timeIsUp.abort();
  }
  return asked;
}

/** Whether the operator's code lets the held refresh go on. Reports a code that doesn't. */
function isApprovedBy(
  approval: string | undefined,
  hold: RefreshHold | null,
  { tally, observe }: Applying,
): boolean {
  if (approval === undefined || approval === hold?.approval) return approval !== undefined;
  const refusal = hold === null ? UNNEEDED : MISMATCH;
  tally.report(null, refusal);
  observe({ kind: "warning", ...refusal });
  return false;
}

const UNNEEDED = {
  code: "APPROVAL_NOT_NEEDED",
  message:
    "a code for the refresh was given, but no refresh is held; a code is good once, and only for the refresh that it was shown with",
};
const MISMATCH = {
  code: "APPROVAL_MISMATCH",
  message: "the given code doesn't match the refresh that is held now",
  hint: "take the code that is shown now: it changes with each group that is found gone or with another token",
};

/** `count` groups were to be asked for, and were not. */
function reportHold(hold: RefreshHold, count: number, { tally, observe }: Applying): void {
  const held = describeHeldRefresh(hold, count);
  tally.refreshHold = held;
  tally.report(null, held);
  observe({ kind: "held", ...held });
}
