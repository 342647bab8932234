import { missingText } from "../core/absence-text.ts";
import type { Held } from "../core/clearance.ts";
import { counted } from "../core/counted.ts";
import { explainHold } from "../core/hold.ts";
import { tenantGone } from "../core/outcome.ts";
import type { Observe } from "../ports/observer.ts";
import { changeCount, heldOf, missingCount, type Plan } from "./plan.ts";
import type { PlanOptions } from "./plan-run.ts";
import { MAX_REPORTED, type Run } from "./run.ts";

type Audience = Pick<Run, "tally" | "observe">;

/** Reports what a plan has found, before anything is done of it. */
export async function reportPlan(plan: Plan, { tally, observe }: Audience): Promise<void> {
  const { counts } = tally;
  counts.unchanged = plan.unchanged;
  counts.outdated = plan.counts.outdated;
  counts.missing = missingCount(plan);
  counts.rejected = plan.counts.rejected;
  observe({
    kind: "planned",
    changes: changeCount(plan),
    unchanged: plan.unchanged,
    missing: counts.missing,
  });
  for (const warning of plan.warnings) observe(warning);
  warnOfOtherSource(plan, observe);
  const { rejected, waiting, gone, missing } = plan.counts;
  // An inconclusive read is told of as a whole.
  const namesMissing = !plan.isWhole && plan.clearance.kind !== "inconclusive";
  if (rejected + waiting + gone + (namesMissing ? missing : 0) === 0) return;
  for await (const batch of plan.entries.read()) {
    for (const entry of batch) {
      if (entry.kind === "rejected") {
        tally.report(entry.user_group_id, entry);
        observe({ kind: "rejected", tenant: entry });
      } else if (entry.kind === "waiting") {
        tally.waits(entry.user_group_id, { ...entry, retryAt: new Date(entry.retryAt) });
      } else if (entry.kind === "gone") {
        tally.report(entry.user_group_id, tenantGone("its tenant is gone, and there is no group of it"));
      } else if (entry.kind === "missing" && namesMissing) {
        tally.report(entry.user_group_id, tenantGone(missingText(entry)));
      }
    }
  }
}

/** In the first read of another source, unless a hold is about to say the same and more. */
function warnOfOtherSource({ reading, clearance, counts }: Plan, observe: Observe): void {
  if (!reading.sourceChanged || clearance.kind !== "cleared" || counts.missing === 0) return;
  observe({
    kind: "warning",
    code: "SOURCE_CHANGED",
    message: `the config names another source than before, and it doesn't have the tenants of ${counted(counts.missing, "group")}`,
    hint: "if it is the wrong one, put the old one back (source.url, source.table, source.query or group.id); these groups are not deleted without approval",
  });
}

/** Reports what is held and why, and whether the operator's word was taken. */
export async function reportClearance(
  plan: Plan,
  { approval }: Pick<PlanOptions, "approval">,
  { tally, observe }: Audience,
): Promise<void> {
  const { clearance } = plan;
  if (clearance.kind === "cleared") {
    if (approval === undefined || clearance.approved) return;
    observe({
      kind: "warning",
      code: "APPROVAL_NOT_NEEDED",
      message: "a code was given to approve deletions, and none are held",
      hint: "a code is good once, and only for the set that it was shown with",
    });
    return;
  }
  const hold = explainHold(clearance);
  if (approval !== undefined) {
    const refusal = {
      code: "APPROVAL_MISMATCH",
      message: "the code that was given doesn't approve what is held now",
    };
    tally.report(null, refusal);
    observe({
      kind: "warning",
      ...refusal,
      hint: "the set has changed since, or the code was used already; groupsync plan shows what is held now",
    });
  }
  tally.counts.held = hold.count;
  tally.hold = { ...hold, groups: await firstHeld(plan) };
  tally.report(null, hold);
  observe({ kind: "held", ...hold });
}

async function firstHeld(plan: Plan): Promise<readonly Held[]> {
  const groups: Held[] = [];
  for await (const batch of heldOf(plan)) {
    groups.push(...batch);
    if (groups.length >= MAX_REPORTED) break;
  }
  return groups.slice(0, MAX_REPORTED);
}
