import type { FailureWithHint } from "../../core/failure/sync-error.ts";
import { type Incident, incidentsOf } from "../../core/report/incidents.ts";
import type { ScopeFacts } from "../../core/report/scope-facts.ts";
import type { RecordedRun, RunResult } from "../../ports/ledger/scope.ts";
import { type DaemonState, type FinishedRun, feedsOf } from "./state.ts";

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
    daemon: { ...state, feeds: feedsOf(serving), takesRequests: serving?.takesRequests ?? false },
  };
}

/** A finished or killed run, from this process's memory or from the ledger. Only the memory has the error's hint. */
export interface PastRun extends RecordedRun {
  readonly result: (RunResult & { readonly error: FailureWithHint | null }) | null;
}

/**
 * The last runs, newest first. For the last run of this process, its memory replaces what the ledger has: it knows the
 * hint, and also how the run ended if the ledger was out of reach at the end.
 */
export function pastRuns({ ledger, lastRun }: DaemonState): readonly PastRun[] {
  const recorded = ledger?.runs ?? [];
  if (!lastRun) return recorded;
  const own = asPast(lastRun);
  if (recorded.some(({ id }) => id === own.id)) return recorded.map((run) => (run.id === own.id ? own : run));
  const [newest] = recorded;
  return newest && newest.startedAt > lastRun.startedAt ? recorded : [own, ...recorded];
}

/** With the duration that the log has. */
const asPast = (run: FinishedRun): PastRun => ({
  id: run.run ?? "",
  command: run.command,
  startedAt: new Date(run.finishedAt.getTime() - run.durationMs),
  finishedAt: run.finishedAt,
  result: run,
});

/** The last run that the service made fail; null if the service has given a good answer since. */
export function unansweredRun({ ledger, lastAnswer }: DaemonState): RecordedRun | null {
  const run = ledger?.unanswered ?? null;
  // Single tenants are served after the ledger was read.
  return run?.finishedAt && lastAnswer && lastAnswer > run.finishedAt ? null : run;
}
