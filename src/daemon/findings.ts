import { isNoFault } from "../core/outcome.ts";
import { SERVICE_FAILURES } from "../core/service-failure.ts";
import type { Summary } from "../core/summary-text.ts";
import type { Findings, TroubleKind } from "./trouble.ts";

type Outage = Extract<TroubleKind, "program" | "ledger" | "stores" | "source" | "service">;

/** What the outcome of a sync says of each kind of trouble. It says nothing of what it didn't get to. */
export function findingsOf({
  outcome,
  counts,
  error,
}: Pick<Summary, "outcome" | "counts" | "error">): Findings {
  if (outcome === "failed") {
    if (error && isNoFault(error)) return {};
    const outage = error ? outageOf(error.code) : "program";
    return { ...SHOWN_BY[outage], [outage]: 1 };
  }
  const { held, failed, rejected } = counts;
  const reached = { program: 0, ledger: 0, stores: 0, service: 0, failing: failed, rejected };
  // Nobody knows then whose tenants are gone.
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
 * What works where a run has got as far as this outage: it takes the lease first, and reads the source before it calls
 * the service.
 */
const SHOWN_BY: Readonly<Record<Outage, Findings>> = {
  program: {},
  ledger: { program: 0 },
  stores: { program: 0, ledger: 0 },
  source: { program: 0, ledger: 0 },
  service: { program: 0, ledger: 0, source: 0 },
};
