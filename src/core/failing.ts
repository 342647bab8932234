import type { Failure } from "./outcome.ts";

/** A group that is failing: a change or a rotation of it has failed, its token is not in every store, or both. */
export interface FailingGroup extends FailedBefore {
  readonly user_group_id: string;
}

/** What has failed, and will be tried again. */
export interface FailedBefore extends Failure {
  /** In a row. */
  readonly count: number;
  readonly retryAt: Date;
  /** When the first of them was. */
  readonly since: Date;
}

/** Several failures of one group, as one. Undefined where there is none. */
export function failingGroup(
  user_group_id: string,
  failures: readonly FailedBefore[],
): FailingGroup | undefined {
  const [first] = failures;
  if (first === undefined) return undefined;
  return {
    user_group_id,
    code: first.code,
    message: failures.map(({ message }) => message).join("; "),
    count: Math.max(...failures.map(({ count }) => count)),
    retryAt: earliest(failures.map(({ retryAt }) => retryAt)),
    since: earliest(failures.map(({ since }) => since)),
  };
}

const earliest = (times: readonly Date[]): Date => new Date(Math.min(...times.map((time) => time.getTime())));
