import {
  type FailureKind,
  type GroupFailures,
  NO_FAILURES,
  type RecordedFailure,
} from "../../../core/failure/group-failures.ts";
import type { Failure } from "../../../core/failure/sync-error.ts";
import type { Group } from "../../../core/group/group.ts";
import {
  type Absence,
  type Intent,
  type LedgerGroup,
  UNKNOWN_STATE,
  type UnverifiedOutcome,
} from "../../../core/group/ledger-group.ts";
import type { RowDigest } from "../../../core/group/tenant.ts";
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

/** For a SELECT whose rows `confirmedGroup` reads. */
export const CONFIRMED_COLUMNS = `confirmed, fingerprint, bucket, row_digest AS "digest", data_source_id AS "dataSourceId"`;

export interface ConfirmedColumns {
  readonly confirmed: string | null;
  readonly fingerprint: string;
  readonly bucket: number;
  readonly digest: RowDigest["digest"] | null;
  readonly dataSourceId: string | null;
}

/** The group as the service last confirmed it; null if nobody knows its state at the service. */
export function confirmedGroup(columns: ConfirmedColumns): ConfirmedGroup | null {
  const { confirmed, fingerprint, bucket, digest, dataSourceId } = columns;
  if (confirmed === null || digest === null || fingerprint === UNKNOWN_STATE) return null;
  return { group: JSON.parse(confirmed) as Group, fingerprint, row: { bucket, digest }, dataSourceId };
}

/**
 * Each kind of failure has five columns, whose names begin with the kind. Without a failure, the count is 0 and the others are
 * null. A failed change also has its fingerprint.
 */
export const KINDS = ["change", "rotation", "storing"] as const satisfies readonly FailureKind[];

const COLUMNS = KINDS.flatMap((kind) => [
  ...(kind === "change" ? ["change_fingerprint"] : []),
  ...[`${kind}_code`, `${kind}_message`, `${kind}_count`, `${kind}_retry_at`, `${kind}_since`],
]);

/** For a SELECT whose rows `failureIn` and `failuresIn` read. */
export const FAILURE_COLUMNS = COLUMNS.join(", ");

/** For a JSON object that they read. */
const FAILURE_MEMBERS = Object.fromEntries(
  COLUMNS.map((column) => [column, { of: column, isTime: /_(retry_at|since)$/.test(column) }]),
);

/** A row, or a JSON object, with the columns above. */
export type FailureValues = Readonly<Record<string, unknown>>;

export function failureIn(row: FailureValues, kind: FailureKind): RecordedFailure | null {
  if (row[`${kind}_code`] === null) return null;
  return {
    code: String(row[`${kind}_code`]),
    message: String(row[`${kind}_message`]),
    count: Number(row[`${kind}_count`]),
    retryAt: new Date(row[`${kind}_retry_at`] as string | Date),
    since: new Date(row[`${kind}_since`] as string | Date),
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
    change: change ? { ...change, fingerprint: String(row.change_fingerprint) } : null,
    rotation: rotation ?? null,
    storing: storing ?? null,
  };
}

/** For a SELECT whose rows are `FailureCounts`. */
export const FAILURE_COUNTS = KINDS.map((kind) => `${kind}_count AS "${kind}"`).join(", ");

/** The values of a failure in a row to write. The database computes the count, and since when the group fails. */
export const failureValues = (kind: FailureKind, failure: Failure, retryAt: Date | undefined) => ({
  [`${kind}_code`]: failure.code,
  [`${kind}_message`]: storable(failure.message),
  [`${kind}_retry_at`]: retryAt?.toISOString() ?? null,
});

export const noFailure = (kind: FailureKind): Assignments =>
  Object.fromEntries(
    COLUMNS.filter((column) => column.startsWith(kind)).map((column) => [
      column,
      column.endsWith("_count") ? "0" : "NULL",
    ]),
  );

export const IS_FAILING = `(${KINDS.map((kind) => `${kind}_code IS NOT NULL`).join(" OR ")})`;

/** MySQL's least() is null if one of its values is. */
export const FAILING_SINCE = `least(coalesce(change_since, rotation_since, storing_since),
  coalesce(rotation_since, storing_since, change_since), coalesce(storing_since, change_since, rotation_since))`;
