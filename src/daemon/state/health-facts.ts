import { NOBODY_MISSING } from "../../core/deletion/missing-tenants.ts";
import { rejectedRows } from "../../core/group/rejections.ts";
import type { HealthFacts } from "../../core/report/health.ts";
import { pastRuns } from "./past-runs.ts";
import type { DaemonState } from "./state.ts";

/** What the daemon knows of the health of its scope. */
export function healthFacts(state: DaemonState): HealthFacts {
  // While this instance stands by, another one serves.
  const servedHere = state.standby ? null : state.serving;
  return {
    // The ledger is read after each run, and single tenants fail between two.
    groups: { failing: Math.max(state.ledger?.status.groups.failing ?? 0, servedHere?.failing ?? 0) },
    rejected: rejectedRows(state.ledger?.status.rejected ?? []),
    held: state.ledger?.status.held ?? null,
    refreshHold: state.ledger?.refreshHold ?? null,
    missing: state.ledger?.missing ?? NOBODY_MISSING,
    lease: state.ledger?.status.lease ?? null,
    oldestWaitMs: servedHere?.oldestMs ?? 0,
    runs: pastRuns(state),
  };
}
