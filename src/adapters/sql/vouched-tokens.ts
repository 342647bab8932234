import type { Group } from "../../core/group.ts";
import { UNKNOWN_STATE } from "../../core/ledger-group.ts";
import type { RowDigest } from "../../core/tenant.ts";
import { NOT_EVERYWHERE } from "../../core/token-copies.ts";
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
  const noted = `failure_fingerprint = '${NOT_EVERYWHERE}'`;
  const named = database.dialect.isOneOf("user_group_id", "$4");
  const meant = of === "all" ? "" : `AND ${of === "not everywhere" ? noted : named}`;
  const rows = await database.query<VouchedColumns>(
    `SELECT user_group_id, token_fingerprint AS "tokenFingerprint", confirmed, fingerprint, bucket,
       row_digest AS "digest", data_source_id AS "dataSourceId",
       CASE WHEN ${noted} THEN failure_code END AS "code", failure_message AS "message",
       failure_count AS "count", retry_at AS "retryAt"
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
    failure: code === null ? null : { fingerprint: NOT_EVERYWHERE, code, message, count, retryAt },
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

/**
 * What is missing takes the place of another failure: the change that has failed is still to be seen, and is tried
 * again. What is there leaves another one as it is.
 */
export function recordStored(place: LedgerPlace, results: readonly StoredResult[], now: Date): Promise<void> {
  const rows = results.map(({ user_group_id, failure }) => ({
    id: user_group_id,
    failure_code: failure?.code ?? null,
    failure_message: failure ? storable(failure.message) : null,
    retry_at: failure?.retryAt.toISOString() ?? null,
    failure_count: failure?.count ?? 0,
  }));
  const isOurs = `(t.failure_code IS NOT NULL OR g.failure_fingerprint IS NULL OR g.failure_fingerprint = '${NOT_EVERYWHERE}')`;
  const ours = (column: string, value: string): string =>
    `CASE WHEN ${isOurs} THEN ${value} ELSE g.${column} END`;
  const whileMissing = (column: string, value: string): string =>
    ours(column, `CASE WHEN t.failure_code IS NOT NULL THEN ${value} END`);
  // In an order that MySQL needs: whose failure it is is read by all of them, and written last.
  return updateGroups(
    place,
    rows,
    STORED_COLUMNS,
    {
      failing_since: whileMissing("failing_since", "coalesce(g.failing_since, $4)"),
      failure_code: ours("failure_code", "t.failure_code"),
      failure_message: ours("failure_message", "t.failure_message"),
      retry_at: ours("retry_at", "t.retry_at"),
      failure_count: ours("failure_count", "t.failure_count"),
      failure_fingerprint: whileMissing("failure_fingerprint", `'${NOT_EVERYWHERE}'`),
    },
    [now],
  );
}

const STORED_COLUMNS = {
  id: "id",
  failure_code: "text",
  failure_message: "text",
  retry_at: "time",
  failure_count: "integer",
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
