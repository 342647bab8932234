import type { RecordedRun } from "../../ports/ledger/scope.ts";
import type { DaemonState, FinishedRun } from "./state.ts";

/** A finished or killed run, from this process's memory or from the ledger. */
export interface PastRun extends RecordedRun {
  /** What the operator can do about the run's error; empty if unknown. */
  readonly hint: string;
}

/**
 * The last runs, newest first. For the last run of this process, its memory replaces what the ledger has: it knows the
 * hint, and also how the run ended if the ledger was out of reach at the end.
 */
export function pastRuns({ ledger, lastRun }: DaemonState): readonly PastRun[] {
  const recorded = (ledger?.status.runs ?? []).map((run) => ({ ...run, hint: "" }));
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
  hint: run.error?.hint ?? "",
});

/** The last run that the service made fail; null if the service has given a good answer since. */
export function unansweredRun({ ledger, lastAnswer }: DaemonState): RecordedRun | null {
  const run = ledger?.status.unanswered ?? null;
  // Single tenants are served after the ledger was read.
  return run?.finishedAt && lastAnswer && lastAnswer > run.finishedAt ? null : run;
}
