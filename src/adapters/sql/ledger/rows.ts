import type { Applied, Deleted, Failed, NotUpdated } from "../../../core/apply/outcome.ts";
import {
  type FailureKind,
  type GroupFailures,
  NO_FAILURES,
  type RecordedFailure,
} from "../../../core/failure/group-failures.ts";
import type { Failure } from "../../../core/failure/sync-error.ts";
import { type Group, tokenFingerprint } from "../../../core/group/group.ts";
import {
  type Absence,
  type Intent,
  type LedgerGroup,
  UNKNOWN_STATE,
  type UnverifiedOutcome,
} from "../../../core/group/ledger-group.ts";
import type { RowDigest } from "../../../core/group/tenant.ts";
import { type Apply, type Change, fingerprintOf, intentOf, isForToken } from "../../../core/plan/change.ts";
import type { ConfirmedGroup } from "../../../ports/ledger/groups.ts";
import { storable } from "../connection/storable.ts";
import type { Assignments, Dialect } from "../dialect/dialect.ts";

/** A condition: a plan needn't look at the group for the sake of its last update. */
export const HAS_NO_UNVERIFIED_UPDATE = "(unverified IS NULL OR unverified <> 'updated')";

/** The last column is null, and costs nothing, for a group at rest; nearly every group is at rest. */
export const groupColumns = ({ jsonObject }: Dialect): string => `
  user_group_id, fingerprint, bucket, row_digest,
  CASE WHEN intent IS NULL AND ${HAS_NO_UNVERIFIED_UPDATE} AND missing_kind IS NULL AND held IS NULL AND NOT ${IS_FAILING}
    THEN NULL
  ELSE ${jsonObject({
    intent: { of: "intent" },
    unverified: { of: "unverified" },
    held: { of: "held" },
    missing: { of: "missing_kind" },
    since: { of: "missing_since", isTime: true },
    ms: { of: "missing_ms" },
    reads: { of: "missing_reads" },
    ...FAILURE_MEMBERS,
  })}
  END`;

export type GroupColumns = [
  user_group_id: string,
  fingerprint: string | null,
  bucket: number,
  row_digest: string | null,
  more: string | null,
];

/** The members of the last column's JSON. */
interface MoreOfGroup extends FailureValues {
  readonly intent: Intent | null;
  readonly unverified: UnverifiedOutcome | null;
  readonly held: LedgerGroup["held"];
  readonly missing: Absence["kind"] | null;
  readonly since: string;
  readonly ms: number;
  readonly reads: number;
}

const AT_REST = { intent: null, isUpdateUnverified: false, absence: null, held: null, failures: NO_FAILURES };

/** Reads a row of `groupColumns`. */
export function ledgerGroup([user_group_id, fingerprint, bucket, digest, text]: GroupColumns): LedgerGroup {
  const row = digest === null ? null : { bucket, digest };
  if (text === null) return { user_group_id, fingerprint, row, ...AT_REST };
  const more = JSON.parse(text) as MoreOfGroup;
  const { intent, unverified, held } = more;
  return {
    user_group_id,
    fingerprint,
    row,
    intent,
    isUpdateUnverified: unverified === "updated",
    absence:
      more.missing === null
        ? null
        : { kind: more.missing, since: new Date(more.since), at: { ms: more.ms, reads: more.reads } },
    held,
    failures: failuresIn(more),
  };
}

export interface ConfirmedColumns {
  readonly confirmed: string | null;
  readonly fingerprint: string;
  readonly bucket: number;
  readonly digest: RowDigest["digest"] | null;
  readonly dataSourceId: string | null;
}

/** The group as the service last confirmed it; null if nobody knows its state at the service. */
export function confirmedGroup({
  confirmed,
  fingerprint,
  bucket,
  digest,
  dataSourceId,
}: ConfirmedColumns): ConfirmedGroup | null {
  if (confirmed === null || digest === null || fingerprint === UNKNOWN_STATE) return null;
  return { group: JSON.parse(confirmed) as Group, fingerprint, row: { bucket, digest }, dataSourceId };
}

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

/** The columns of one kind of failure. Without a failure, the count is 0 and the others are null. */
type FailureColumns = Readonly<Record<"code" | "message" | "count" | "retryAt" | "since", string>>;

export const KINDS = ["change", "rotation", "storing"] as const satisfies readonly FailureKind[];

/** The columns of a change's failure are older than the others and keep their names. */
export const FAILURES: Readonly<Record<FailureKind, FailureColumns>> = {
  change: {
    code: "failure_code",
    message: "failure_message",
    count: "failure_count",
    retryAt: "retry_at",
    since: "failing_since",
  },
  rotation: {
    code: "rotation_code",
    message: "rotation_message",
    count: "rotation_count",
    retryAt: "rotation_retry_at",
    since: "rotation_since",
  },
  storing: {
    code: "storing_code",
    message: "storing_message",
    count: "storing_count",
    retryAt: "storing_retry_at",
    since: "storing_since",
  },
};

const COLUMNS = KINDS.flatMap((kind) => Object.values<string>(FAILURES[kind]));

/** For a SELECT whose rows `failureIn` reads. */
export const FAILURE_COLUMNS = COLUMNS.join(", ");

/** For a JSON object that `failureIn` and `failuresIn` read. */
const FAILURE_MEMBERS = Object.fromEntries(
  ["failure_fingerprint", ...COLUMNS].map((column) => [
    column,
    { of: column, isTime: KINDS.some((kind) => isTime(FAILURES[kind], column)) },
  ]),
);

function isTime({ retryAt, since }: FailureColumns, column: string): boolean {
  return column === retryAt || column === since;
}

/** A row, or a JSON object, with the columns above. */
export type FailureValues = Readonly<Record<string, unknown>>;

export function failureIn(row: FailureValues, kind: FailureKind): RecordedFailure | null {
  const { code, message, count, retryAt, since } = FAILURES[kind];
  if (row[code] === null) return null;
  return {
    code: String(row[code]),
    message: String(row[message]),
    count: Number(row[count]),
    retryAt: new Date(row[retryAt] as string | Date),
    since: new Date(row[since] as string | Date),
  };
}

export function failuresIn(row: FailureValues): GroupFailures {
  const [change, rotation, storing] = KINDS.map((kind) => {
    const failure = failureIn(row, kind);
    if (failure === null) return null;
    const { since: _, ...more } = failure;
    return more;
  });
  return {
    change: change ? { ...change, fingerprint: String(row.failure_fingerprint) } : null,
    rotation: rotation ?? null,
    storing: storing ?? null,
  };
}

/** For a SELECT whose rows are `FailureCounts`. */
export const FAILURE_COUNTS = KINDS.map((kind) => `${FAILURES[kind].count} AS "${kind}"`).join(", ");

/** The values of a failure in a row to write. The database computes the count, and since when the group fails. */
export const failureValues = (kind: FailureKind, failure: Failure, retryAt: Date | undefined) => {
  const columns = FAILURES[kind];
  return {
    [columns.code]: failure.code,
    [columns.message]: storable(failure.message),
    [columns.retryAt]: retryAt?.toISOString() ?? null,
  };
};

export const noFailure = (kind: FailureKind): Assignments => {
  const { count, ...others } = FAILURES[kind];
  const nulls = Object.values<string>(others).map((column) => [column, "NULL"]);
  return {
    ...Object.fromEntries(nulls),
    [count]: "0",
    ...(kind === "change" && { failure_fingerprint: "NULL" }),
  };
};

export const IS_FAILING = `(${KINDS.map((kind) => `${FAILURES[kind].code} IS NOT NULL`).join(" OR ")})`;

const [CHANGE, ROTATION, STORING] = KINDS.map((kind) => FAILURES[kind].since);
/** MySQL's least() is null if one of its values is. */
export const FAILING_SINCE = `least(coalesce(${CHANGE}, ${ROTATION}, ${STORING}),
  coalesce(${ROTATION}, ${STORING}, ${CHANGE}), coalesce(${STORING}, ${CHANGE}, ${ROTATION}))`;
