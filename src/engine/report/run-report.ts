import type { FailureWithHint, SyncError } from "../../core/failure/sync-error.ts";
import { type Counts, type RunOutcome, runOutcome } from "../../core/report/counts.ts";
import type { ReportedError, Tally } from "./tally.ts";

/** What a run reports at its end: what its tally has, and how it ended. */
export interface RunReport
  extends Readonly<Pick<Tally, "requests" | "hold" | "clocks" | "refreshHold" | "keptTokens">> {
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly durationMs: number;
  readonly errors: readonly ReportedError[];
  /** Why the run did not reach its end; undefined if it did. */
  readonly error: SyncError | undefined;
}

/** Builds the report of a run from its tally. `error` is why the run did not reach its end. */
export function reportOn(tally: Tally, durationMs: number, error: SyncError | undefined): RunReport {
  const { requests, hold, clocks, refreshHold, keptTokens } = tally;
  const errors = [...tally.errors];
  // Drift that is found after the run still counts in the tally.
  const counts = structuredClone(tally.counts);
  const report = { counts, requests, durationMs, hold, clocks, refreshHold, keptTokens, error };
  // A hold decides the outcome even if no removal is held: the source may have had no valid row.
  if (!error) {
    const ended = clocks ? "partial" : runOutcome(counts);
    return { ...report, outcome: hold || refreshHold ? "held" : ended, errors };
  }
  const { code, message } = error;
  return { ...report, outcome: "failed", errors: [{ user_group_id: null, code, message }, ...errors] };
}

/** What ended the run, or kept it from being done. If several things did, the gravest. */
export const reasonOf = ({
  error,
  hold,
  clocks,
  refreshHold,
}: Pick<RunReport, "error" | "hold" | "clocks" | "refreshHold">): FailureWithHint | undefined =>
  error ?? hold ?? clocks ?? refreshHold;
