import { SERVICE_FAILURES } from "../../core/failure/service-failure.ts";
import { isClockDifference, isNoFault } from "../../core/failure/sync-error.ts";
import type { Summary } from "../../core/report/counts.ts";
import type { RunEvent } from "../../ports/observer.ts";
import type { ProblemCounts, ProblemKind } from "./problems.ts";

type Outage = Extract<ProblemKind, "program" | "ledger" | "stores" | "source" | "service">;

/** What has been seen to work since it failed last. */
export type Working = ReadonlySet<"service" | "stores">;

/**
 * What a sync's outcome shows of each kind of problem. A kind is left out if the sync couldn't show it: it ended before, or it
 * had nothing to ask the service or nothing to store.
 */
export function problemsOfRun(
  { outcome, counts, error }: Pick<Summary, "outcome" | "counts" | "error">,
  working: Working,
): ProblemCounts {
  if (outcome === "failed") {
    if (error && isNoFault(error)) return {};
    const outage = error ? outageOf(error.code) : "program";
    return { ...SHOWN_BY[outage], [outage]: 1 };
  }
  const { held, failed, rejected } = counts;
  const tried = Object.fromEntries(Array.from(working, (kind) => [kind, 0]));
  const reached = { program: 0, ledger: 0, ...tried, failing: failed, rejected };
  // Without a usable read nobody knows which tenants are gone, so the number of held removals is unknown too.
  if (error?.code === "SOURCE_INCONCLUSIVE") return { ...reached, source: 1 };
  // While the clocks differ nothing is held, and what was held before still waits.
  if (error && isClockDifference(error)) return { ...reached, source: 0, clocks: 1 };
  return { ...reached, source: 0, clocks: 0, held };
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

/** What an event of a run shows to work. */
export function workingBy(event: RunEvent): readonly ("service" | "stores")[] {
  switch (event.kind) {
    case "recorded":
    case "rotated":
    case "deleted":
      return ["service", "stores"];
    case "refreshed":
    case "answered":
      return ["service"];
    case "restored":
      return ["stores"];
    case "served":
      if (event.served.kind !== "done" || event.served.outcome === "unchanged") return [];
      return event.served.outcome === "restored" ? ["stores"] : ["service", "stores"];
    default:
      return [];
  }
}
