import { isAlarming, recently } from "../core/deletion/missing-tenants.ts";
import { SERVICE_FAILURES } from "../core/failure/service-failure.ts";
import { isClockDifference, isNoFault } from "../core/failure/sync-error.ts";
import type { Summary } from "../core/report/counts.ts";
import type { RunEvent } from "../ports/observer.ts";
import type { DaemonState } from "./state/state.ts";

/** What can be wrong. The outages are first, up to `service`: a run with one ends early, or can't judge the source. */
export const PROBLEM_KINDS = [
  "program",
  "ledger",
  "stores",
  "source",
  "service",
  "config",
  "clocks",
  "held",
  "refresh",
  "missing",
  "drift",
  "failing",
  "rejected",
] as const;
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** How many groups or rows have each problem: 1 for an outage, 0 if all is well. Left out if not known. */
export type ProblemCounts = Readonly<Partial<Record<ProblemKind, number>>>;

/** A problem that lasts, and that people know of. */
interface Problem {
  readonly since: Date;
  readonly count: number;
  /** When a message last named it. */
  readonly toldAt: Date;
}

export type Problems = Readonly<Partial<Record<ProblemKind, Problem>>>;

/** What people have to be told. A message names every problem that lasts. */
export interface ProblemNews {
  readonly began: readonly ProblemKind[];
  readonly ended: readonly { readonly kind: ProblemKind; readonly lastedMs: number }[];
}

const DAY = 86_400_000;

/**
 * Updates the problems by their new counts. There is news if a problem begins or ends, and, as a reminder, if one lasts that no
 * message has named for a day.
 */
export function updateProblems(
  before: Problems,
  counts: ProblemCounts,
  now: Date,
): { readonly problems: Problems; readonly news: ProblemNews | null } {
  const problems: Partial<Record<ProblemKind, Problem>> = {};
  const began: ProblemKind[] = [];
  const ended: ProblemNews["ended"][number][] = [];
  for (const kind of PROBLEM_KINDS) {
    const known = before[kind];
    const count = counts[kind] ?? known?.count ?? 0;
    if (count > 0) {
      problems[kind] = { ...(known ?? { since: now, toldAt: now }), count };
      if (!known) began.push(kind);
    } else if (known) {
      ended.push({ kind, lastedMs: Math.max(0, now.getTime() - known.since.getTime()) });
    }
  }
  const isReminded = lasting(problems).some(([, { toldAt }]) => now.getTime() - toldAt.getTime() > DAY);
  if (began.length === 0 && ended.length === 0 && !isReminded) return { problems, news: null };
  for (const [kind, problem] of lasting(problems)) problems[kind] = { ...problem, toldAt: now };
  return { problems, news: { began, ended } };
}

/** In the order of their kinds. */
export const lasting = (problems: Problems): [kind: ProblemKind, problem: Problem][] =>
  PROBLEM_KINDS.flatMap((kind): [ProblemKind, Problem][] => {
    const problem = problems[kind];
    return problem ? [[kind, problem]] : [];
  });

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

/**
 * What the ledger shows: whether the refresh is held, how much drift the runs of the last 24 hours have found, and whether
 * alarmingly many tenants went missing. Drift is healed in the run that finds it, and each run asks for other groups: if each
 * run were judged alone, the same problem would begin and end all day.
 */
export function problemsOfLedger({ ledger }: Pick<DaemonState, "ledger">): ProblemCounts {
  if (ledger === null) return {};
  const { readAt, history, refreshHold, missing, status } = ledger;
  const since = recently(readAt);
  const found = history.flatMap(({ result, finishedAt }) =>
    result && finishedAt && finishedAt >= since ? Object.values(result.counts.drift) : [],
  );
  return {
    refresh: refreshHold?.gone ?? 0,
    drift: found.reduce((sum, count) => sum + count, 0),
    // Held removals are a problem of their own, and may concern the same tenants.
    ...(!status.held && { missing: isAlarming(missing) ? Math.max(missing.count, missing.toBeHeld) : 0 }),
  };
}
