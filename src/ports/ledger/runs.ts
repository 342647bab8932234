import type { Failure } from "../../core/failure/sync-error.ts";
import type { Counts, RunOutcome } from "../../core/report/counts.ts";

export interface RunReads {
  /** The runs that began at this time or later, newest first, at most `limit`; only those of `command`, if given. */
  history(since: Date, limit: number, command?: string): Promise<readonly RecordedRun[]>;
}

export interface RunWrites {
  startRun(command: string, now: Date): Promise<RunId>;
  /** Also deletes what is too old of the history of runs, removals and tokens: a run that begins has no time for that. */
  finishRun(run: RunId, result: RunResult, now: Date): Promise<void>;
  /** Takes a run that has changed nothing out of the history. */
  discardRun(run: RunId): Promise<void>;
}

export type RunId = string;

export interface RunResult {
  readonly outcome: RunOutcome;
  readonly counts: Counts;
  readonly requests: number;
  /** Why the run failed, or why it held deletions back. */
  readonly error: Failure | null;
}

export interface RecordedRun {
  readonly id: RunId;
  readonly command: string;
  readonly startedAt: Date;
  /** Null while the run is under way, and for good if it was killed. */
  readonly finishedAt: Date | null;
  readonly result: RunResult | null;
}
