import type { HeldRemoval, HeldRemovals } from "../../core/deletion/removals.ts";
import type { HeldRefresh } from "../../core/drift/refresh.ts";
import type { RetryableFailure } from "../../core/failure/group-failures.ts";
import type { Failure, SyncError } from "../../core/failure/sync-error.ts";
import { type Counts, noCounts, type RunOutcome, runOutcome } from "../../core/report/counts.ts";
import type { Problem } from "../../core/report/finding.ts";
import type { Observe } from "../../ports/observer.ts";

export interface ReportedError extends Failure {
  readonly user_group_id: string | null;
}

interface ReportedHold extends HeldRemovals {
  /** The first held removals. */
  readonly groups: readonly HeldRemoval[];
  /** Their names by their ids, as the service last told them. */
  readonly names: ReadonlyMap<string, string>;
}

/** The most errors and held removals that a report lists. The counts have them all. */
export const MAX_REPORTED = 1_000;

/** Counts what a run has done so far. */
export class Tally {
  readonly counts: Counts = noCounts();
  requests = 0;
  /** Why removals are held. */
  hold: ReportedHold | undefined;
  /** How the clocks differ: then nothing was removed, so the run is not done. */
  clocks: Problem | undefined;
  /** Why the refresh is held. */
  refreshHold: HeldRefresh | undefined;
  /** The groups that were to get a new token, did not, and whose old token still works for certain. */
  readonly keptTokens = new Set<string>();
  /** In the order in which they came. All failures of a group are one error. */
  readonly errors: ReportedError[] = [];
  /** The failing groups, each with the place of its error. */
  readonly #failing = new Map<string, number>();

  /** How much drift was found, of any kind. */
  get drift(): number {
    return Object.values(this.counts.drift).reduce((sum, count) => sum + count, 0);
  }

  report(user_group_id: string | null, { code, message }: Failure): void {
    if (this.errors.length < MAX_REPORTED) this.errors.push({ user_group_id, code, message });
  }

  /** Reports the failure of a group. The group counts once, however often it fails. */
  failed(user_group_id: string, failure: Failure): void {
    const place = this.#failing.get(user_group_id);
    if (place === undefined) {
      this.counts.failed++;
      this.#failing.set(user_group_id, this.errors.length);
      this.report(user_group_id, failure);
      return;
    }
    const first = this.errors[place];
    if (first && !first.message.includes(failure.message))
      this.errors[place] = { ...first, message: `${first.message}; ${failure.message}` };
  }

  /** Reports a group that failed in an earlier run and whose next attempt is not due. */
  waits(user_group_id: string, { code, message, retryAt }: Omit<RetryableFailure, "count">): void {
    this.failed(user_group_id, { code, message: `${message} (next try after ${retryAt.toISOString()})` });
  }
}

/** What a step needs to report: the tally of the run, and the observer of its events. */
export interface Reporting {
  readonly tally: Tally;
  readonly observe: Observe;
}

/** Counts a group as failed in this run, and tells the observer. */
export function reportFailure(
  user_group_id: string,
  { code, message }: Failure,
  { tally, observe }: Reporting,
): void {
  tally.failed(user_group_id, { code, message });
  observe({ kind: "failed", user_group_id, code, message });
}

/** What a run reports at its end. */
export interface RunReport {
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly requests: number;
  readonly durationMs: number;
  readonly errors: readonly ReportedError[];
  /** Why removals are held; undefined if none are. */
  readonly hold: ReportedHold | undefined;
  /** How the clocks differ; undefined if they agree, or if the run had no need to know. */
  readonly clocks: Problem | undefined;
  /** Why the refresh is held; undefined if it isn't. */
  readonly refreshHold: HeldRefresh | undefined;
  /** The groups that were to get a new token, did not, and whose old token still works for certain. */
  readonly keptTokens: ReadonlySet<string>;
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
}: Pick<RunReport, "error" | "hold" | "clocks" | "refreshHold">): Problem | undefined =>
  error ?? hold ?? clocks ?? refreshHold;
