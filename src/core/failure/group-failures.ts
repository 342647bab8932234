import type { Failure } from "./sync-error.ts";

/** A failure after which the same thing is tried again. */
export interface RetryableFailure extends Failure {
  /** How many times in a row it has failed. */
  readonly count: number;
  readonly retryAt: Date;
}

/** A failure as the ledger records it. */
export interface RecordedFailure extends RetryableFailure {
  /** The time of the first failure in the row. */
  readonly since: Date;
}

export interface ChangeFailure extends RecordedFailure {
  /** The fingerprint of the change that failed, by `fingerprintOf`: another change is tried at once. */
  readonly fingerprint: string;
}

/**
 * The failures of one group. Each kind has its own count and its own backoff.
 *
 * | kind     | set when                        | cleared when                        | its backoff holds back          |
 * |----------|---------------------------------|-------------------------------------|---------------------------------|
 * | change   | a create, update, replacement   | a change is done, or the group is   | the same change                 |
 * |          | or deletion failed              | already as the row wants it         |                                 |
 * | rotation | a rotation failed               | the group has a new token; or       | a rotation by a sync            |
 * |          |                                 | another one, if none is wanted      |                                 |
 * | storing  | a token is not in every store,  | the live token is in every store    | copying the token, and the GET  |
 * |          | or a store refused it before a  |                                     | for the token alone             |
 * |          | rotation, or a GET for it failed|                                     |                                 |
 *
 * All failures are forgotten with the group.
 */
export interface GroupFailures {
  readonly change: ChangeFailure | null;
  readonly rotation: RecordedFailure | null;
  readonly storing: RecordedFailure | null;
}

export type FailureKind = keyof GroupFailures;

export const NO_FAILURES = { change: null, rotation: null, storing: null } as const satisfies GroupFailures;

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

/** How often it was tried, since when, and when it is tried again. */
export const triesText = ({ count, since, retryAt }: RecordedFailure): (string | Date)[] => [
  `${count} in a row since `,
  since,
  ", next try after ",
  retryAt,
];
