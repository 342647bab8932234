import { ROTATED } from "../../core/rotation.ts";
import type { KnownToken, RotationResult } from "../../ports/rotation.ts";
import type { LedgerPlace } from "./ledger-place.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { storable } from "./storable.ts";

/** Commits to the rotation of one token; undefined where there is no such group. */
export async function beginRotation(
  { connection, tables, scope }: LedgerPlace,
  id: string,
  now: Date,
): Promise<KnownToken | undefined> {
  const [known] = await connection.query<KnownToken>(
    `SELECT token_fingerprint AS "tokenFingerprint", intent, failure_count AS failures
       FROM ${tables.groups} WHERE scope = $1 AND user_group_id = $2`,
    [scope, id],
  );
  await connection.query(
    `UPDATE ${tables.groups}
       SET intent = coalesce(intent, 'rotate'), intent_at = coalesce(intent_at, $3)
       WHERE scope = $1 AND user_group_id = $2`,
    [scope, id, now],
  );
  return known;
}

export async function withdrawRotation(
  { connection, tables, scope }: LedgerPlace,
  id: string,
): Promise<void> {
  await connection.query(
    `UPDATE ${tables.groups} SET intent = NULL, intent_at = NULL
       WHERE scope = $1 AND user_group_id = $2 AND intent = 'rotate'`,
    [scope, id],
  );
}

export async function recordRotation(
  { connection, tables, scope }: LedgerPlace,
  { user_group_id, tokenFingerprint, sharedToken, failure, isOpen }: RotationResult,
  now: Date,
): Promise<void> {
  if (tokenFingerprint !== null) {
    await connection.query(formerTokens(tables, "user_group_id = $2 AND token_fingerprint <> $3", "$4"), [
      scope,
      user_group_id,
      tokenFingerprint,
      now,
    ]);
  }
  // The failure of another change stays: it says more than that of a rotation.
  const isOurs = `(failure_fingerprint IS NULL OR failure_fingerprint = '${ROTATED}')`;
  const ours = (column: string, value: string): string =>
    `${column} = CASE WHEN ${isOurs} THEN ${value} ELSE ${column} END`;
  // In an order that MySQL needs: an old value is read before it is written.
  await connection.query(
    `UPDATE ${tables.groups}
       SET token_since = CASE WHEN token_fingerprint = coalesce($3, token_fingerprint) THEN token_since ELSE $4 END,
           shared_token = CASE WHEN $3 IS NULL THEN coalesce($9, shared_token) END,
           token_fingerprint = coalesce($3, token_fingerprint),
           intent = CASE WHEN $5 THEN intent END,
           intent_at = CASE WHEN $5 THEN intent_at END,
           ${ours("failing_since", failure === null ? "NULL" : "coalesce(failing_since, $4)")},
           ${ours("failure_code", "$6")},
           ${ours("failure_message", "$7")},
           ${ours("retry_at", "$8")},
           ${ours("failure_count", failure === null ? "0" : "failure_count + 1")},
           ${ours("failure_fingerprint", failure === null ? "NULL" : `'${ROTATED}'`)}
       WHERE scope = $1 AND user_group_id = $2`,
    [
      scope,
      user_group_id,
      tokenFingerprint,
      now,
      isOpen,
      failure?.code ?? null,
      failure === null ? null : storable(failure.message),
      failure?.retryAt ?? null,
      sharedToken ?? null,
    ],
  );
}

/** Keeps which token was live when, by its fingerprint, for the groups that `which` names; `until` is when it died. */
export const formerTokens = (
  { groups, formerTokens: table }: LedgerTables,
  which: string,
  until: string,
): string =>
  `INSERT INTO ${table} (scope, user_group_id, token_fingerprint, live_since, live_until)
   SELECT scope, user_group_id, token_fingerprint, token_since, ${until}
   FROM ${groups} WHERE scope = $1 AND token_fingerprint IS NOT NULL AND ${which}`;
