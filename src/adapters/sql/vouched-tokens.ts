import type { Group } from "../../core/group.ts";
import { UNKNOWN_STATE } from "../../core/ledger-group.ts";
import type { RowDigest } from "../../core/tenant.ts";
import type { ConfirmedGroup, StoredResult, VouchedOptions, VouchedToken } from "../../ports/ledger.ts";
import type { Database } from "./database.ts";
import { type LedgerPlace, updateGroups } from "./ledger-place.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { storable } from "./storable.ts";

/** A page of the groups whose tokens have to be in the stores. */
export async function vouchedTokens(
  database: Database,
  { groups }: LedgerTables,
  scope: string,
  { limit, after, of }: VouchedOptions,
): Promise<VouchedToken[]> {
  const noted = "copies_code IS NOT NULL";
  const named = database.dialect.isOneOf("user_group_id", "$4");
  const meant = of === "all" ? "" : `AND ${of === "not everywhere" ? noted : named}`;
  const rows = await database.query<VouchedColumns>(
    `SELECT user_group_id, token_fingerprint AS "tokenFingerprint", confirmed, fingerprint, bucket,
       row_digest AS "digest", data_source_id AS "dataSourceId",
       copies_code AS "code", copies_message AS "message", copies_count AS "count", copies_retry_at AS "retryAt"
     FROM ${groups}
     WHERE scope = $1 AND user_group_id > $2 AND intent IS NULL AND missing_kind IS NULL
       AND token_fingerprint IS NOT NULL AND fingerprint IS NOT NULL ${meant}
     ORDER BY user_group_id LIMIT $3`,
    [scope, after ?? "", limit, ...(typeof of === "string" ? [] : [of])],
  );
  return rows.map(({ user_group_id, tokenFingerprint, code, message, count, retryAt, ...row }) => ({
    user_group_id,
    tokenFingerprint,
    confirmed: confirmedGroup(row),
    failure: code === null ? null : { code, message, count, retryAt },
  }));
}

function confirmedGroup({
  confirmed,
  fingerprint,
  bucket,
  digest,
  dataSourceId,
}: ConfirmedColumns): ConfirmedGroup | null {
  if (confirmed === null || digest === null || fingerprint === UNKNOWN_STATE) return null;
  return { group: JSON.parse(confirmed) as Group, fingerprint, row: { bucket, digest }, dataSourceId };
}

export function recordStored(place: LedgerPlace, results: readonly StoredResult[], now: Date): Promise<void> {
  const rows = results.map(({ user_group_id, failure }) => ({
    id: user_group_id,
    code: failure?.code ?? null,
    message: failure ? storable(failure.message) : null,
    count: failure?.count ?? 0,
    retry_at: failure?.retryAt.toISOString() ?? null,
  }));
  return updateGroups(
    place,
    rows,
    STORED_COLUMNS,
    {
      copies_since: "CASE WHEN t.code IS NOT NULL THEN coalesce(g.copies_since, $4) END",
      copies_code: "t.code",
      copies_message: "t.message",
      copies_count: "t.count",
      copies_retry_at: "t.retry_at",
    },
    [now],
  );
}

const STORED_COLUMNS = {
  id: "id",
  code: "text",
  message: "text",
  count: "integer",
  retry_at: "time",
} as const;

interface ConfirmedColumns {
  readonly confirmed: string | null;
  readonly fingerprint: string;
  readonly bucket: number;
  readonly digest: RowDigest["digest"] | null;
  readonly dataSourceId: string | null;
}

interface VouchedColumns extends ConfirmedColumns {
  readonly user_group_id: string;
  readonly tokenFingerprint: string;
  readonly code: string | null;
  readonly message: string;
  readonly count: number;
  readonly retryAt: Date;
}
