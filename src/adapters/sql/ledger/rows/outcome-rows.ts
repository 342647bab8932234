import type { Applied, Deleted, Failed, NotUpdated } from "../../../../core/apply/outcome.ts";
import type { Failure } from "../../../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../../../core/group/ledger-group.ts";
import {
  type Apply,
  type Change,
  fingerprintOf,
  intentOf,
  isForToken,
} from "../../../../core/plan/change.ts";
import { storable } from "../../connection/storable.ts";
import { failureValues } from "./failure-columns.ts";

/**
 * The columns, beside the id, that an applied change can set. A column without a value in any row is left out of the
 * statement: it must be null by default, or have a value in every row, as `bucket` has.
 */
export const APPLIED_COLUMNS = {
  bucket: "integer",
  row_digest: "bigint",
  fingerprint: "text",
  confirmed: "text",
  service_name: "text",
  token_fingerprint: "text",
  shared_token: "text",
  data_source_id: "text",
  unverified: "text",
  intent: "text",
  failure_fingerprint: "text",
  failure_code: "text",
  failure_message: "text",
  retry_at: "time",
  storing_code: "text",
  storing_message: "text",
  storing_retry_at: "time",
} as const;
/** The columns that a failed deletion can set. */
export const UNDELETED_COLUMNS = {
  id: "id",
  intent: "text",
  failure_fingerprint: "text",
  failure_code: "text",
  failure_message: "text",
  retry_at: "time",
} as const;

/**
 * A null leaves its column as it is, except for failures: a row with a confirmed group clears the change's failure, a
 * row with a token clears the failure of storing it, and a row with a new token clears the rotation's failure.
 */
export function appliedRow({ kind, change, token, serviceName, unverified }: Applied) {
  // The call was for the token only: the group, and the failure of a change of it, stay as they are.
  if (isForToken(change)) return answeredRow(change, { token, serviceName });
  const call = kind === "updated" ? "updated" : "adopted";
  return {
    ...answeredRow(change, { token, serviceName }),
    row_digest: change.row.digest,
    fingerprint: change.fingerprint,
    confirmed: JSON.stringify(change.group),
    data_source_id: storable(change.dataSourceId),
    unverified: unverified ? call : null,
  };
}

export const notUpdatedRow = (outcome: NotUpdated, retryAt: Date | undefined) => ({
  ...answeredRow(outcome.change, outcome),
  // If the group was as desired, nothing but this makes a plan look at it again.
  ...(outcome.isUnknownState && { fingerprint: UNKNOWN_STATE }),
  ...changeFailed(outcome.change, outcome.failure, retryAt),
});

const answeredRow = (
  { user_group_id, row }: Apply,
  { token, serviceName }: Pick<Applied, "token" | "serviceName">,
) => ({
  id: user_group_id,
  bucket: row.bucket,
  service_name: storable(serviceName),
  token_fingerprint: tokenFingerprint(token),
});

export const failedRow = ({ change, failure, mayHaveHappened }: Failed, retryAt: Date | undefined) => ({
  id: change.user_group_id,
  intent: mayHaveHappened ? intentOf(change) : null,
  ...changeFailed(change, failure, retryAt),
});

/** A GET for the token failed. */
export const untoldRow = ({ change, failure, mayHaveHappened }: Failed, retryAt: Date | undefined) => ({
  id: change.user_group_id,
  intent: mayHaveHappened ? intentOf(change) : null,
  ...failureValues("storing", failure, retryAt),
});

export const unremovedRow = (outcome: Deleted, failure: Failure, retryAt: Date | undefined): FailedRow => ({
  id: outcome.change.user_group_id,
  intent: "remove",
  ...changeFailed(outcome.change, failure, retryAt),
});

export type FailedRow = ReturnType<typeof failedRow>;

/** Some of the stores have the token, but not all. */
export const notEverywhereValues = (failure: Failure | undefined, retryAt: Date | undefined) =>
  failure && failureValues("storing", failure, retryAt);

const changeFailed = (change: Change, failure: Failure, retryAt: Date | undefined) => ({
  failure_fingerprint: fingerprintOf(change),
  ...failureValues("change", failure, retryAt),
});
