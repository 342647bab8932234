import { isAlarming } from "../../core/deletion/missing-tenants.ts";
import type { DaemonState } from "../state/state.ts";
import type { ProblemCounts } from "./problems.ts";

/** Whether alarmingly many tenants went missing. */
export function missingProblem({ ledger }: Pick<DaemonState, "ledger">): ProblemCounts {
  // Held removals are a problem of their own, and may concern the same tenants.
  if (ledger === null || ledger.status.held) return {};
  const { missing } = ledger;
  return { missing: isAlarming(missing) ? Math.max(missing.count, missing.toBeHeld) : 0 };
}
