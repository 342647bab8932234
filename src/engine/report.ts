import type { SyncError } from "../core/errors.ts";
import { type Counts, type RunOutcome, runOutcome } from "../core/outcome.ts";
import type { ReportedError, ReportedHold, Tally } from "./run.ts";

/** What a run says at its end. */
export interface RunReport {
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly requests: number;
  readonly durationMs: number;
  readonly errors: readonly ReportedError[];
  /** Why deletions were held back, where they were. */
  readonly hold: ReportedHold | undefined;
  /** Why the run did not reach its end. */
  readonly error: SyncError | undefined;
}

/** `durationMs` is the time from start to end; `error` is why the run did not reach its end. */
export function reportOn(tally: Tally, durationMs: number, error: SyncError | undefined): RunReport {
  const { counts, requests, errors, hold } = tally;
  const report = { counts, requests, durationMs, hold, error };
  // A read without a valid row ends no run well, even if there is nothing to hold.
  if (!error) return { ...report, outcome: hold ? "held" : runOutcome(counts), errors };
  const { code, message } = error;
  return { ...report, outcome: "failed", errors: [{ user_group_id: null, code, message }, ...errors] };
}
