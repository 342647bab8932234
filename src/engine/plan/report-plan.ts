import { GONE_TEXT, missingText } from "../../core/deletion/missing-tenants.ts";
import { describeHeldRemovals, type HeldRemoval } from "../../core/deletion/removals.ts";
import { isClockDifference, tenantGone, tenantNotReady } from "../../core/failure/sync-error.ts";
import { clockDifference } from "../../core/plan/read-history.ts";
import { namesOf } from "../../core/record/candidates.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { Observe } from "../../ports/observer.ts";
import { MAX_REPORTED, type Reporting } from "../report/tally.ts";
import type { PlanOptions } from "./make-plan.ts";
import { changeCount, heldOf, missingCount, type Plan } from "./plan.ts";

/** Reports what a plan found, before its changes are made. */
export async function reportPlan(plan: Plan, { tally, observe }: Reporting): Promise<void> {
  const { counts } = tally;
  counts.unchanged = plan.unchanged;
  counts.outdated = plan.counts.outdated;
  counts.missing = missingCount(plan);
  counts.not_ready = plan.notReady;
  counts.rejected = plan.counts.rejected;
  observe({
    kind: "planned",
    changes: changeCount(plan),
    unchanged: plan.unchanged,
    missing: counts.missing,
  });
  for (const warning of plan.warnings) observe(warning);
  warnOfOtherSource(plan, observe);
  const { hostLeadMs } = plan.reading;
  if (hostLeadMs !== null) {
    tally.clocks = clockDifference(hostLeadMs);
    tally.report(null, tally.clocks);
  }
  const { rejected, waiting, gone, missing, not_ready } = plan.counts;
  const namesPassedOver = !plan.isWhole;
  if (rejected + waiting + gone + (namesPassedOver ? missing + not_ready : 0) === 0) return;
  for await (const batch of plan.entries.read()) {
    for (const entry of batch) {
      if (entry.kind === "rejected") {
        tally.report(entry.user_group_id, entry);
      } else if (entry.kind === "waiting" && isClockDifference(entry)) {
        tally.waits(entry.user_group_id, { ...entry, retryAt: new Date(entry.retryAt) });
      } else if (entry.kind === "gone") {
        tally.report(entry.user_group_id, tenantGone(GONE_TEXT));
      } else if (entry.kind === "missing" && namesPassedOver) {
        tally.report(entry.user_group_id, tenantGone(missingText(entry)));
      } else if (entry.kind === "not_ready" && namesPassedOver) {
        tally.report(entry.user_group_id, tenantNotReady());
      }
    }
  }
}

/** Warns if this is the first read of another source. If removals are held, `reportGuard` says so instead. */
function warnOfOtherSource({ reading, guard, counts }: Plan, observe: Observe): void {
  if (!reading.sourceChanged || guard.kind !== "allowed" || counts.missing === 0) return;
  observe({
    kind: "warning",
    code: "SOURCE_CHANGED",
    message: `the config names another source than before, and the new source doesn't have the tenants of ${quantity(counts.missing, "group")}`,
    hint: "if the new source is wrong, restore the old one in the config (source.url, source.table, source.query or group.id); these groups are not deleted without approval",
  });
}

/** Reports which removals are held and why, and whether the operator's approval code was accepted. */
export async function reportGuard(
  plan: Plan,
  { approval }: Pick<PlanOptions, "approval">,
  { tally, observe, ledger }: Reporting & { readonly ledger: Pick<GroupReads, "records"> },
): Promise<void> {
  const { guard } = plan;
  if (guard.kind === "allowed") {
    // What is reported of the clocks says already that no code approves anything.
    if (approval === undefined || guard.approved || plan.reading.hostLeadMs !== null) return;
    const unneeded = {
      code: "APPROVAL_NOT_NEEDED",
      message:
        "an approval code was given, but no removals are held; a code approves only the removals that it was shown with, and only once",
    };
    tally.report(null, unneeded);
    observe({ kind: "warning", ...unneeded });
    return;
  }
  const hold = describeHeldRemovals(guard);
  if (approval !== undefined) {
    const refusal = {
      code: "APPROVAL_MISMATCH",
      message:
        "the given approval code doesn't match the removals that are held now: others are held since it was shown, or it was used already; groupsync plan shows the present code",
    };
    tally.report(null, refusal);
    observe({ kind: "warning", ...refusal });
  }
  tally.counts.held = hold.count;
  const groups = await firstHeld(plan);
  const names = namesOf(await ledger.records(groups.map(({ user_group_id }) => user_group_id)));
  tally.hold = { ...hold, groups, names };
  tally.report(null, hold);
  observe({ kind: "held", ...hold });
}

async function firstHeld(plan: Plan): Promise<readonly HeldRemoval[]> {
  const groups: HeldRemoval[] = [];
  for await (const batch of heldOf(plan)) {
    groups.push(...batch);
    if (groups.length >= MAX_REPORTED) break;
  }
  return groups.slice(0, MAX_REPORTED);
}
