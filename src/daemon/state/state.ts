import { type Incident, incidentsOf } from "../../core/report/incidents.ts";
import type { DaemonFacts, PastRun, ScopeFacts } from "../../core/report/scope-facts.ts";
import type { LedgerStatus } from "../../engine/ledger-status.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";

/** Everything that the daemon's probes, status page and metrics show. Contains no secret. */
export interface DaemonState extends DaemonFacts {
  /** The scope: `name` in the config. */
  readonly name: string;
  /** `schedule` is read in this time zone. */
  readonly timezone: string;
  /** The last run of this process, without runs that another instance's lease prevented. Null before the first one. */
  readonly lastRun: OwnRun | null;
  /** The ledger as it was after the last run. Null until it was read once. */
  readonly ledger: LedgerStatus | null;
}

/** A run of this process. The ledger doesn't have a run that ended before it had the lease. */
export interface OwnRun extends PastRun {
  readonly id: string | null;
}

/** Everything that is wrong, the worst first. Empty if nothing is. */
export const incidentsOfState = (state: DaemonState, now: Date): readonly Incident[] =>
  incidentsOf(factsOf(state), now);

/** All that decides what is wrong with the scope, and what else is shown of it. */
export function factsOf(state: DaemonState): ScopeFacts {
  const { ledger, serving, standby } = state;
  return {
    ledger,
    runs: pastRuns(state),
    unanswered: unansweredRun(state),
    // While this instance stands by, another one serves.
    serving: standby ? null : serving,
    daemon: state,
  };
}

/**
 * The last runs, newest first. For the last run of this process, its memory replaces what the ledger has: it knows the
 * hint, and also how the run ended if the ledger was out of reach at the end.
 */
export function pastRuns({ ledger, lastRun }: DaemonState): readonly PastRun[] {
  const recorded = ledger?.runs ?? [];
  if (!lastRun) return recorded;
  if (recorded.some(({ id }) => id === lastRun.id))
    return recorded.map((run) => (run.id === lastRun.id ? lastRun : run));
  const [newest] = recorded;
  return newest && newest.startedAt > lastRun.startedAt ? recorded : [lastRun, ...recorded];
}

/** The last run that the service made fail; null if the service has given a good answer since. */
export function unansweredRun({ ledger, lastAnswer }: DaemonState): RecordedRun | null {
  const run = ledger?.unanswered ?? null;
  // Single tenants are served after the ledger was read.
  return run?.finishedAt && lastAnswer && lastAnswer > run.finishedAt ? null : run;
}
