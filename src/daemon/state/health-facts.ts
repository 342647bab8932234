import { NOBODY_MISSING } from "../../core/deletion/missing-tenants.ts";
import { rejectedRows } from "../../core/group/rejections.ts";
import type { HealthFacts } from "../../core/report/health.ts";
import { pastRuns } from "./past-runs.ts";
import type { DaemonState } from "./state.ts";

/** What the daemon knows of the health of its scope. */
export const healthFacts = (state: DaemonState): HealthFacts => ({
  groups: state.ledger?.status.groups ?? { failing: 0 },
  rejected: rejectedRows(state.ledger?.status.rejected ?? []),
  held: state.ledger?.status.held ?? null,
  refreshHold: state.ledger?.refreshHold ?? null,
  missing: state.ledger?.missing ?? NOBODY_MISSING,
  lease: state.ledger?.status.lease ?? null,
  // While this instance stands by, another one serves.
  oldestWaitMs: state.standby ? 0 : (state.serving?.oldestMs ?? 0),
  runs: pastRuns(state),
});
