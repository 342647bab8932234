import { NO_FAILURES } from "../../../../core/failure/group-failures.ts";
import type { Absence, Intent, LedgerGroup, UnverifiedOutcome } from "../../../../core/group/ledger-group.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { FAILURE_MEMBERS, type FailureValues, failuresIn, IS_FAILING } from "./failure-columns.ts";

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
