import type { Failure } from "../../core/failure/sync-error.ts";
import type { Doubt } from "../../core/group/ledger-group.ts";
import { owes } from "../../core/record/owes.ts";
import type { RecentWrites } from "../../core/record/recent-writes.ts";
import { DOUBT_TEXT, isNeverMade } from "../../core/record/record.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { KeyTable } from "../lease/keys.ts";
import { type Reporting, reportFailure } from "../report/tally.ts";
import { candidatePages } from "./candidate-pages.ts";
import type { PlanOptions } from "./make-plan.ts";
import { isEvidence, type Plan } from "./plan.ts";

interface OwedReporting extends Reporting {
  readonly ledger: Pick<GroupReads, "candidates" | "records">;
  readonly recent: Pick<RecentWrites, "savedUnderLease">;
  readonly keys: KeyTable;
  readonly throttle: { readonly hasAnswered: boolean };
  readonly signal: AbortSignal;
}

/**
 * Reports what is still owed of what was asked for: by `owes`, and the tenants that a lookup has left unserved. A run ends well only
 * if nothing is. A call for a tenant that was looked up singly goes on beside the run. As long as the service has answered nobody
 * in this run, waits for such calls: they tell whether it answers at all. If that ends the run, no tenant is reported.
 */
export async function reportOwed(
  plan: Plan,
  { only }: Pick<PlanOptions, "only">,
  run: OwedReporting,
): Promise<void> {
  const { tally, ledger, keys, throttle } = run;
  for (const id of plan.isWhole ? keys.lookedUp : []) {
    if (throttle.hasAnswered) break;
    (await keys.hold([id])).release();
  }
  if (run.signal.aborted) return;
  const owedNothing = plan.isWhole && plan.owing === 0 && Object.values(plan.counts).every((n) => n === 0);
  // To find what the ledger owes reads all groups, so look only if anything may be owed.
  if (!owedNothing || tally.requests + keys.lookedUp.length > 0) await reportRecorded(plan, only, run);
  if (!plan.isWhole || keys.unserved.size === 0) return;
  const groups = await ledger.records([...keys.unserved.keys()]);
  for (const [id, why] of keys.unserved) {
    const isServed = why.desired !== undefined && why.desired === groups.get(id)?.fingerprint;
    if (!isServed && !tally.hasFailed(id)) reportFailure(id, why, run);
  }
}

/** If nothing was owed when the source was read, then no more than this number of groups is read by their ids. */
const MOST_SAVED = 1_000;

async function reportRecorded(
  plan: Plan,
  only: ReadonlySet<string> | undefined,
  { tally, ledger, keys, recent }: OwedReporting,
): Promise<void> {
  const { create, update, ...others } = plan.counts;
  const owedNothing = plan.owing === 0 && Object.values(others).every((n) => n === 0);
  const saved = owedNothing ? recent.savedUnderLease : null;
  const ids = only ? [...only] : saved && saved.length <= MOST_SAVED ? saved : null;
  const owing = ids ? [[...(await ledger.records(ids)).values()]] : candidatePages(ledger, { kind: "owing" });
  let held = 0;
  for await (const page of owing) {
    for (const group of page) {
      const { user_group_id: id, failures, intent, doubt } = group;
      const owed = owes(group);
      const isUnderWay = intent !== null && UNDER_WAY.some((what) => owed.includes(what));
      // A plan of all tenants has judged what is held.
      if (only !== undefined && owed.includes("held")) held++;
      const failing = FAILURES.filter((kind) => owed.includes(`failing ${kind}`));
      // The tenant of a group that was never made, and that this run has not tried to make, is gone.
      const isForgotten = only !== undefined && isNeverMade(group);
      if (tally.hasFailed(id) || isForgotten) continue;
      if (plan.skipsGrace && isEvidence(plan)) tally.failed(id, TENANT_PRESENT);
      for (const kind of failing) if (failures[kind]) tally.waits(id, failures[kind]);
      if (failing.length > 0) continue;
      if (isUnderWay && !keys.wasLookedUp(id)) tally.failed(id, intent === "remove" ? LEFT_OVER : UNSETTLED);
      else if (doubt !== null && owed.includes("doubted")) tally.failed(id, inDoubt(doubt));
    }
  }
  tally.counts.held = Math.max(tally.counts.held, held);
}

const FAILURES = ["storing", "change", "rotation"] as const;
const UNDER_WAY = ["under way", "leftover", "wanted"] as const;

const UNSETTLED: Failure = {
  code: "UNSETTLED",
  message:
    "an earlier call for its group is under way, and nobody knows what came of it; if its row is rejected or not ready, correct the row: a GET could change the group",
};

const LEFT_OVER: Failure = {
  code: "UNSETTLED",
  message: "its group is deleted, and its token may still be stored: a sync of all tenants removes the token",
};

const TENANT_PRESENT: Failure = {
  code: "TENANT_PRESENT",
  message: "its row is there, so its group is not deleted",
};

export const inDoubt = (doubt: Doubt): Failure => ({
  code: "IN_DOUBT",
  message: `${DOUBT_TEXT[doubt]}, and the service has not been asked for its group since`,
});
