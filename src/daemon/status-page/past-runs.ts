import type { RecordedRun } from "../../ports/ledger.ts";
import type { DaemonState, FinishedRun } from "../state.ts";

/** A run as this process or the ledger knows it. */
export interface PastRun extends RecordedRun {
  /** What the operator can do about its error; empty where nothing is known. */
  readonly hint: string;
}

/**
 * The last runs, newest first. This process knows of its own last run what the ledger may not: how it ended, where the
 * ledger could not be reached to write it down, and what helps.
 */
export function pastRuns({ ledger, lastRun }: DaemonState): readonly PastRun[] {
  const recorded = (ledger?.status.runs ?? []).map((run) => ({ ...run, hint: "" }));
  if (!lastRun) return recorded;
  const own = asPast(lastRun);
  if (recorded.some(({ id }) => id === own.id)) return recorded.map((run) => (run.id === own.id ? own : run));
  const [newest] = recorded;
  return newest && newest.startedAt > own.startedAt ? recorded : [own, ...recorded];
}

const asPast = (run: FinishedRun): PastRun => ({
  id: run.run ?? "",
  command: run.command,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
  result: run,
  hint: run.error?.hint ?? "",
});
