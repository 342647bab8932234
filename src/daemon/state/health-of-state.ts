import { NOBODY_MISSING } from "../../core/deletion/missing-tenants.ts";
import { LONGEST_SILENCE } from "../../core/drift/refresh.ts";
import { healthOf, type Verdict } from "../../core/report/health.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";
import type { DaemonState, FinishedRun } from "./state.ts";

/** What is wrong with the scope, or one sentence that says that nothing is. */
export function healthOfState(state: DaemonState, now: Date): readonly [Verdict, ...Verdict[]] {
  const ledger = state.ledger ?? NOT_READ;
  // While this instance stands by, another one serves.
  const servedHere = state.standby ? null : state.serving;
  return healthOf({
    ...ledger,
    // The ledger is read after each run, and single tenants fail between two.
    groups: { ...ledger.groups, failing: Math.max(ledger.groups.failing, servedHere?.failing ?? 0) },
    oldestWaitMs: servedHere?.oldestMs ?? 0,
    silentMs: silentMs(state, now),
    runs: pastRuns(state),
    unanswered: unansweredRun(state),
  });
}

/** Of a ledger that was not read yet. */
const NOT_READ = {
  groups: { failing: 0, in_doubt: 0, wanted: 0 },
  rejected: [],
  held: null,
  refreshHold: null,
  missing: NOBODY_MISSING,
  lease: null,
};

/** A daemon asks after an hour, or with its next sync: by then it has asked twice, or is stale. */
function silentMs(
  { standby, ledger, lastAnswer, startedAt, lastGoodSync, staleAt }: DaemonState,
  now: Date,
): number {
  if (standby || ledger?.service.teamId == null) return 0;
  const ms = now.getTime() - (lastAnswer ?? startedAt).getTime();
  const syncsWithinMs = staleAt.getTime() - (lastGoodSync ?? startedAt).getTime();
  return ms > LONGEST_SILENCE + Math.max(LONGEST_SILENCE, syncsWithinMs) ? ms : 0;
}

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
  const recorded = (ledger?.runs ?? []).map((run) => ({ ...run, hint: "" }));
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
  const run = ledger?.unanswered ?? null;
  // Single tenants are served after the ledger was read.
  return run?.finishedAt && lastAnswer && lastAnswer > run.finishedAt ? null : run;
}
