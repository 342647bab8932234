import type { HeldRemoval, HeldRemovals } from "../../core/deletion/removals.ts";
import type { HeldRefresh } from "../../core/drift/refresh.ts";
import type { RetryableFailure } from "../../core/failure/group-failures.ts";
import type { Failure, FailureWithHint } from "../../core/failure/sync-error.ts";
import { type Counts, noCounts } from "../../core/report/counts.ts";
import type { Observe } from "../../ports/observer.ts";

export interface ReportedError extends Failure {
  readonly user_group_id: string | null;
}

export interface ReportedHold extends HeldRemovals {
  /** The first held removals. */
  readonly groups: readonly HeldRemoval[];
  /** Their names by their ids, as the service last told them. */
  readonly names: ReadonlyMap<string, string>;
}

/** The most errors and held removals that a report lists. The counts have them all. */
export const MAX_REPORTED = 1_000;

export class Tally {
  readonly counts: Counts = noCounts();
  requests = 0;
  /** Why removals are held; undefined if none are. */
  hold: ReportedHold | undefined;
  /** How the clocks differ: then nothing was removed, so the run is not done. Undefined if they agree, or nothing needs them. */
  clocks: FailureWithHint | undefined;
  /** Why the refresh is held; undefined if it isn't. */
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

  hasFailed(user_group_id: string): boolean {
    return this.#failing.has(user_group_id);
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
