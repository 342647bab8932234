import type { Failure } from "../../core/failure/sync-error.ts";
import type { Observe } from "../../ports/observer.ts";
import type { Tally } from "./tally.ts";

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
