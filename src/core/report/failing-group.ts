import type { RecordedFailure } from "../failure/group-failures.ts";

/** A group with one failure or more, of any kind, shown as one. */
export interface FailingGroup extends RecordedFailure {
  readonly user_group_id: string;
}

/** Sums up a group's failures as one. A message that several of them share is told once. Undefined if there are none. */
export function failingGroup(
  user_group_id: string,
  failures: readonly RecordedFailure[],
): FailingGroup | undefined {
  const [first] = failures;
  if (first === undefined) return undefined;
  return {
    user_group_id,
    code: first.code,
    message: [...new Set(failures.map(({ message }) => message))].join("; "),
    count: Math.max(...failures.map(({ count }) => count)),
    retryAt: earliest(failures.map(({ retryAt }) => retryAt)),
    since: earliest(failures.map(({ since }) => since)),
  };
}

const earliest = (times: readonly Date[]): Date => new Date(Math.min(...times.map((time) => time.getTime())));
