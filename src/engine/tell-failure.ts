import type { Failure } from "../core/outcome.ts";
import type { Run } from "./run.ts";

/** A group has failed in this run. */
export function tellFailure(
  user_group_id: string,
  { code, message }: Failure,
  { tally, observe }: Pick<Run, "tally" | "observe">,
): void {
  tally.failed(user_group_id, { code, message });
  observe({ kind: "failed", user_group_id, code, message });
}
