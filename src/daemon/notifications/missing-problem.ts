import { isAlarming } from "../../core/deletion/missing-tenants.ts";
import { type DaemonState, wentMissingOf } from "../state/state.ts";
import type { ProblemCounts } from "./problems.ts";

/** Whether alarmingly many tenants went missing. */
export function missingProblem(state: Pick<DaemonState, "ledger" | "deletionLimit">): ProblemCounts {
  const missing = wentMissingOf(state);
  // Held removals are a problem of their own, and may concern the same tenants.
  if (missing === null || state.ledger?.status.held) return {};
  return { missing: isAlarming(missing) ? missing.count : 0 };
}
