import { recently } from "../../core/deletion/missing-tenants.ts";
import type { DaemonState } from "../state/state.ts";
import type { ProblemCounts } from "./problems.ts";

/**
 * Whether the refresh is held, and how much drift the runs of the last 24 hours have found. What is found is healed in the
 * same run, and each run asks for other groups: if each run were judged alone, the same trouble would begin and end all day.
 */
export function driftProblems({ ledger }: Pick<DaemonState, "ledger">): ProblemCounts {
  if (ledger === null) return {};
  const since = recently(ledger.readAt);
  const found = ledger.history.flatMap(({ result, finishedAt }) =>
    result && finishedAt && finishedAt >= since ? Object.values(result.counts.drift) : [],
  );
  return {
    refresh: ledger.refreshHold?.gone ?? 0,
    drift: found.reduce((sum, count) => sum + count, 0),
  };
}
