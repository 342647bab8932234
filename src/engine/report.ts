import type { SyncError } from "../core/errors.ts";
import { type Counts, type RunOutcome, runOutcome } from "../core/outcome.ts";
import type { ReportedError, Tally } from "./run.ts";

/** What a run says at its end. */
export interface RunReport {
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly requests: number;
  readonly durationMs: number;
  readonly errors: readonly ReportedError[];
  /** Why the run did not reach its end. */
  readonly error: SyncError | undefined;
}

export function reportOn(tally: Tally, durationMs: number, error: SyncError | undefined): RunReport {
  const { counts, requests } = tally;
  if (!error)
    return { outcome: runOutcome(counts), counts, requests, durationMs, errors: tally.errors, error };
  const { code, message } = error;
  const errors = [{ user_group_id: null, code, message }, ...tally.errors];
  return { outcome: "failed", counts, requests, durationMs, errors, error };
}
