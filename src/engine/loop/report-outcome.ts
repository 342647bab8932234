import type { Outcome } from "../../core/apply/outcome.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { isRefresh, isRestored } from "../../core/plan/change.ts";
import type { RecordedOutcome } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import { type Reporting, reportFailure } from "../report/tally.ts";
import type { ServiceIdentity } from "../service/service-identity.ts";

interface OutcomeReporting extends Reporting {
  readonly identity: ServiceIdentity;
}

/** Reports and counts how the group in the service's answer differs from the ledger's record of it. */
export function reportDrift(before: GroupRecord | null, outcome: Outcome, run: OutcomeReporting): void {
  if (!("token" in outcome)) return;
  const { tally, observe } = run;
  for (const drift of outcome.drift ?? []) {
    tally.counts.drift[drift]++;
    observe({
      kind: "drift",
      user_group_id: outcome.change.user_group_id,
      drift,
      tokenFingerprint: tokenFingerprint(outcome.token),
      formerTokenFingerprint: before?.tokenFingerprint ?? null,
      name: outcome.serviceName,
    });
  }
}

export function reportOutcome(
  { outcome, notEverywhere, notRemoved }: RecordedOutcome,
  run: OutcomeReporting,
): void {
  const { tally, observe } = run;
  const { user_group_id } = outcome.change;
  const isAnsweredRefresh = isRefresh(outcome.change) && outcome.kind !== "failed";
  if (isAnsweredRefresh) tally.counts.refreshed++;
  const failure = notEverywhere ?? notRemoved;
  if (failure) {
    reportFailure(user_group_id, failure, run);
    return;
  }
  switch (outcome.kind) {
    case "failed":
      reportFailure(user_group_id, outcome.failure, run);
      return;
    case "not_updated":
      if (outcome.failure) reportFailure(user_group_id, outcome.failure, run);
      else reportRestored(user_group_id, run);
      return;
    case "deleted":
      if (outcome.change.absence !== "canary") tally.counts.deleted++;
      observe({ kind: "deleted", user_group_id, absence: outcome.change.absence });
      return;
    case "created":
    case "adopted":
    case "updated":
    case "replaced": {
      const { change, unverified } = outcome;
      if (isAnsweredRefresh) {
        // A service that updates has repaired mapping and properties, and no answer shows it. A group that is new has both.
        if (outcome.kind !== "created" && run.identity.updates !== false) tally.counts.unverified++;
        observe({ kind: "refreshed", user_group_id });
        return;
      }
      if (isRestored(change) && (outcome.kind === "updated" || outcome.kind === "adopted")) {
        reportRestored(user_group_id, run);
        return;
      }
      tally.counts[outcome.kind]++;
      if (unverified) tally.counts.unverified++;
      observe({
        kind: "recorded",
        user_group_id,
        result: outcome.kind,
        unverified,
        tokenFingerprint: tokenFingerprint(outcome.token),
      });
    }
  }
}

function reportRestored(user_group_id: string, { tally, observe }: Reporting): void {
  tally.counts.restored++;
  observe({ kind: "restored", user_group_id });
}
