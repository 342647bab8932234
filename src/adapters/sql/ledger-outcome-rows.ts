import { type Apply, fingerprintOf, intentOf, isForToken } from "../../core/change.ts";
import { tokenFingerprint } from "../../core/group.ts";
import type { Applied, Deleted, Failed, Failure, NotUpdated } from "../../core/outcome.ts";
import { storable } from "./storable.ts";

/** What can change of a group that was applied, beside its id. */
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
  copies_code: "text",
  copies_message: "text",
  copies_retry_at: "time",
} as const;
/** What can change of one that could not be deleted. */
export const UNDELETED_COLUMNS = {
  id: "id",
  intent: "text",
  failure_fingerprint: "text",
  failure_code: "text",
  failure_message: "text",
  retry_at: "time",
} as const;

/**
 * In all rows, nulls leave the column as it is. But a failure of a change is cleared by a row that has the group as it is
 * confirmed, and one of a token's copies by a row that has the token.
 */
export function appliedRow({ kind, change, token, serviceName, unverified }: Applied) {
  // It was as it should be before; and if a change of it has failed, that stands.
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
  ...failureColumns(fingerprintOf(outcome.change), outcome.failure, retryAt),
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
  ...failureColumns(fingerprintOf(change), failure, retryAt),
});

/** The token was asked for in vain. */
export const untoldRow = ({ change, failure, mayHaveHappened }: Failed, retryAt: Date | undefined) => ({
  id: change.user_group_id,
  intent: mayHaveHappened ? intentOf(change) : null,
  ...copiesColumns(failure, retryAt),
});

export const unremovedRow = (outcome: Deleted, failure: Failure, retryAt: Date | undefined): FailedRow => ({
  id: outcome.change.user_group_id,
  intent: "remove",
  ...failureColumns(fingerprintOf(outcome.change), failure, retryAt),
});

export type FailedRow = ReturnType<typeof failedRow>;

export const copiesColumns = (failure: Failure | undefined, retryAt: Date | undefined) =>
  failure && {
    copies_code: failure.code,
    copies_message: storable(failure.message),
    copies_retry_at: retryAt?.toISOString() ?? null,
  };

const failureColumns = (fingerprint: string, { code, message }: Failure, retryAt: Date | undefined) => ({
  failure_fingerprint: fingerprint,
  failure_code: code,
  failure_message: storable(message),
  retry_at: retryAt?.toISOString() ?? null,
});
