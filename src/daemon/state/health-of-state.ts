import { NOBODY_MISSING } from "../../core/deletion/missing-tenants.ts";
import { LONGEST_SILENCE } from "../../core/drift/refresh.ts";
import { rejectedRows } from "../../core/group/rejections.ts";
import { healthOf, type Verdict } from "../../core/report/health.ts";
import { pastRuns, unansweredRun } from "./past-runs.ts";
import type { DaemonState } from "./state.ts";

/** What is wrong with the scope, or one sentence that says that nothing is. */
export function healthOfState(state: DaemonState, now: Date): readonly [Verdict, ...Verdict[]] {
  // While this instance stands by, another one serves.
  const servedHere = state.standby ? null : state.serving;
  return healthOf({
    groups: {
      // The ledger is read after each run, and single tenants fail between two.
      failing: Math.max(state.ledger?.status.groups.failing ?? 0, servedHere?.failing ?? 0),
      in_doubt: state.ledger?.status.groups.in_doubt ?? 0,
      wanted: state.ledger?.status.groups.wanted ?? 0,
    },
    rejected: rejectedRows(state.ledger?.status.rejected ?? []),
    held: state.ledger?.status.held ?? null,
    refreshHold: state.ledger?.refreshHold ?? null,
    missing: state.ledger?.missing ?? NOBODY_MISSING,
    lease: state.ledger?.status.lease ?? null,
    oldestWaitMs: servedHere?.oldestMs ?? 0,
    silentMs: silentMs(state, now),
    runs: pastRuns(state),
    unanswered: unansweredRun(state),
  });
}

/** A daemon asks after an hour, or with its next sync: by then it has asked twice, or is stale. */
function silentMs(
  { standby, ledger, lastAnswer, startedAt, lastGoodSync, staleAt }: DaemonState,
  now: Date,
): number {
  if (standby || ledger?.status.service.teamId == null) return 0;
  const ms = now.getTime() - (lastAnswer ?? startedAt).getTime();
  const syncsWithinMs = staleAt.getTime() - (lastGoodSync ?? startedAt).getTime();
  return ms > LONGEST_SILENCE + Math.max(LONGEST_SILENCE, syncsWithinMs) ? ms : 0;
}
