import type { FailureKind, GroupFailures, RecordedFailure } from "../../../../core/failure/group-failures.ts";
import type { Failure } from "../../../../core/failure/sync-error.ts";
import { storable } from "../../connection/storable.ts";
import type { Assignments } from "../../dialect/dialect.ts";

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
export const FAILURE_MEMBERS = Object.fromEntries(
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
