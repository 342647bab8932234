import { isNoFault } from "../../core/failure/failure.ts";
import { SERVICE_FAILURES } from "../../core/failure/service-failure.ts";
import type { Summary } from "../../core/report/summary-text.ts";
import type { ProblemCounts, ProblemKind } from "./problems.ts";

type Outage = Extract<ProblemKind, "program" | "ledger" | "stores" | "source" | "service">;

/**
 * What a sync's outcome shows of each kind of problem. A kind is left out if the sync ended before it could show it.
 */
export function problemsOfRun({
  outcome,
  counts,
  error,
}: Pick<Summary, "outcome" | "counts" | "error">): ProblemCounts {
  if (outcome === "failed") {
    if (error && isNoFault(error)) return {};
    const outage = error ? outageOf(error.code) : "program";
    return { ...SHOWN_BY[outage], [outage]: 1 };
  }
  const { held, failed, rejected } = counts;
  const reached = { program: 0, ledger: 0, stores: 0, service: 0, failing: failed, rejected };
  // Without a usable read nobody knows which tenants are gone, so the number of held removals is unknown too.
  if (error?.code === "SOURCE_INCONCLUSIVE") return { ...reached, source: 1 };
  return { ...reached, source: 0, held };
}

function outageOf(code: string): Outage {
  if (code.startsWith("LEDGER_") || code.startsWith("LEASE_") || code === "COMMITS_LOST") return "ledger";
  if (code.startsWith("TOKEN")) return "stores";
  if (code.startsWith("SOURCE_")) return "source";
  if (code.startsWith("SERVICE_") || code === "TEAM_CHANGED" || code in SERVICE_FAILURES) return "service";
  return "program";
}

/**
 * What works if a run has got as far as this outage. A run takes the lease first, and reads the source before it calls
 * the service.
 */
const SHOWN_BY: Readonly<Record<Outage, ProblemCounts>> = {
  program: {},
  ledger: { program: 0 },
  stores: { program: 0, ledger: 0 },
  source: { program: 0, ledger: 0 },
  service: { program: 0, ledger: 0, source: 0 },
};
