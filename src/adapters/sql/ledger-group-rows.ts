import type { Absence, Intent, LedgerGroup } from "../../core/ledger-group.ts";
import type { Dialect } from "./dialect.ts";

/** Nearly every row is at rest: what else there is to say of a row is null then, and costs nothing. */
export const groupColumns = ({ jsonObject }: Dialect): string => `
  user_group_id, fingerprint, bucket, row_digest,
  CASE WHEN intent IS NULL AND unverified IS NULL AND missing_kind IS NULL AND held IS NULL AND failure_count = 0
    THEN NULL
  ELSE ${jsonObject({
    intent: { of: "intent" },
    unverified: { of: "unverified" },
    held: { of: "held" },
    missing: { of: "missing_kind" },
    since: { of: "missing_since", isTime: true },
    ms: { of: "missing_ms" },
    reads: { of: "missing_reads" },
    fingerprint: { of: "failure_fingerprint" },
    code: { of: "failure_code" },
    message: { of: "failure_message" },
    count: { of: "failure_count" },
    retryAt: { of: "retry_at", isTime: true },
  })}
  END`;

export type GroupColumns = [
  user_group_id: string,
  fingerprint: string | null,
  bucket: number,
  row_digest: string | null,
  more: string | null,
];

/** The members of the JSON above. */
interface MoreOfGroup {
  readonly intent: Intent | null;
  readonly unverified: LedgerGroup["unverified"];
  readonly held: LedgerGroup["held"];
  readonly missing: Absence["kind"] | null;
  readonly since: string;
  readonly ms: number;
  readonly reads: number;
  readonly fingerprint: string | null;
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly retryAt: string;
}

const AT_REST = { intent: null, unverified: null, absence: null, held: null, failure: null };

/** Reads a row of `groupColumns`. */
export function ledgerGroup([user_group_id, fingerprint, bucket, digest, text]: GroupColumns): LedgerGroup {
  const row = digest === null ? null : { bucket, digest };
  if (text === null) return { user_group_id, fingerprint, row, ...AT_REST };
  const more = JSON.parse(text) as MoreOfGroup;
  const { intent, unverified, held, code, message, count } = more;
  return {
    user_group_id,
    fingerprint,
    row,
    intent,
    unverified,
    absence:
      more.missing === null
        ? null
        : { kind: more.missing, since: new Date(more.since), at: { ms: more.ms, reads: more.reads } },
    held,
    failure:
      more.fingerprint === null
        ? null
        : { fingerprint: more.fingerprint, code, message, count, retryAt: new Date(more.retryAt) },
  };
}
