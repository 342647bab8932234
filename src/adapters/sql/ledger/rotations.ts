import type { FailureCounts } from "../../../core/failure/group-failures.ts";
import type { KnownToken, RotationReads, RotationWrites } from "../../../ports/ledger/groups.ts";
import { storable } from "../connection/storable.ts";
import type { Assignments } from "../dialect/dialect.ts";
import type { LedgerTables } from "../dialect/ledger-tables.ts";
import { FAILURE_COLUMNS, FAILURE_COUNTS, type FailureValues, failuresIn, noFailure } from "./rows.ts";
import { countWhere, HAS_TOKEN, type LedgerReader, type LedgerScope } from "./scope.ts";

const ROTATABLE =
  "scope = $1 AND token_since <= $2 AND missing_kind IS NULL AND (intent IS NULL OR intent = 'rotate')";

export const rotationReads = (reader: LedgerReader): RotationReads => ({
  rotatable: ({ until, limit, after }) =>
    reader.read([], async ({ connection, tables, scope }) => {
      const rows = await connection.query<CandidateColumns>(
        `SELECT user_group_id, token_since AS "tokenSince", ${FAILURE_COLUMNS}
         FROM ${tables.groups}
         WHERE ${ROTATABLE} ${after ? "AND token_since >= $4 AND (token_since > $4 OR user_group_id > $5)" : ""}
         ORDER BY token_since, user_group_id LIMIT $3`,
        [scope, until, limit, ...(after ? [after.tokenSince, after.user_group_id] : [])],
      );
      return rows.map((row) => ({
        user_group_id: row.user_group_id,
        tokenSince: row.tokenSince,
        failure: failuresIn(row).rotation,
      }));
    }),

  rotatableCount: (until) =>
    reader.read(0, (ledger) => countWhere(ledger, ledger.tables.groups, ROTATABLE, [ledger.scope, until])),

  tokensLiveSince: (time) =>
    reader.read(0, (ledger) =>
      countWhere(ledger, ledger.tables.groups, "scope = $1 AND token_since <= $2", [ledger.scope, time]),
    ),
});

interface CandidateColumns extends FailureValues {
  readonly user_group_id: string;
  readonly tokenSince: Date;
}

export const rotationWrites = ({ dialect, connection, tables, scope }: LedgerScope): RotationWrites => ({
  async beginRotation(id, now) {
    const [row] = await connection.query<KnownRow>(
      `SELECT token_fingerprint AS "tokenFingerprint", intent, ${FAILURE_COUNTS}
       FROM ${tables.groups} WHERE scope = $1 AND user_group_id = $2`,
      [scope, id],
    );
    await connection.query(
      `UPDATE ${tables.groups}
       SET intent = coalesce(intent, 'rotate'), intent_at = coalesce(intent_at, $3)
       WHERE scope = $1 AND user_group_id = $2`,
      [scope, id, now],
    );
    if (row === undefined) return undefined;
    const { change, rotation, storing, ...known } = row;
    return { ...known, failures: { change, rotation, storing } };
  },

  async withdrawRotation(id) {
    await connection.query(
      `UPDATE ${tables.groups} SET intent = NULL, intent_at = NULL
       WHERE scope = $1 AND user_group_id = $2 AND intent = 'rotate'`,
      [scope, id],
    );
  },

  async recordRotation({ user_group_id, tokenFingerprint, sharedToken, failure, isOpen }, now) {
    if (tokenFingerprint !== null) {
      // Not `<>`: that implies a token that is not null, and with it the index that `HAS_TOKEN` avoids.
      const which = `user_group_id = $2 AND ${dialect.differ("token_fingerprint", "$3")}`;
      await connection.query(formerTokens(tables, which, "$4"), [
        scope,
        user_group_id,
        tokenFingerprint,
        now,
      ]);
    }
    // PostgreSQL learns the type of $3 here, before it meets "$3 IS NULL".
    const isSameToken = "(token_fingerprint = $3 OR $3 IS NULL)";
    const unlessOther = (column: string): string => `CASE WHEN ${isSameToken} THEN ${column} END`;
    // MySQL assigns from left to right: read an old value before its column is assigned.
    const set: Assignments = {
      rotation_code: `coalesce($6, ${unlessOther("rotation_code")})`,
      rotation_message: `coalesce($7, ${unlessOther("rotation_message")})`,
      rotation_retry_at: `coalesce($8, ${unlessOther("rotation_retry_at")})`,
      rotation_since: failure ? "coalesce(rotation_since, $4)" : unlessOther("rotation_since"),
      rotation_count: failure ? "rotation_count + 1" : `coalesce(${unlessOther("rotation_count")}, 0)`,
      ...(tokenFingerprint !== null && noFailure("storing")),
      token_since: `CASE WHEN ${isSameToken} THEN token_since ELSE $4 END`,
      shared_token: "CASE WHEN $3 IS NULL THEN coalesce($9, shared_token) END",
      token_fingerprint: "coalesce($3, token_fingerprint)",
      intent: "CASE WHEN $5 THEN intent END",
      intent_at: "CASE WHEN $5 THEN intent_at END",
    };
    const assignments = Object.entries(set).map(([column, value]) => `${column} = ${value}`);
    await connection.query(
      `UPDATE ${tables.groups} SET ${assignments.join(", ")} WHERE scope = $1 AND user_group_id = $2`,
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
  },
});

interface KnownRow extends Omit<KnownToken, "failures">, FailureCounts {}

/** Keeps the fingerprint of a token and when it was live, for groups that `which` selects. `until` is when it died. */
export const formerTokens = (
  { groups, formerTokens: table }: LedgerTables,
  which: string,
  until: string,
): string =>
  `INSERT INTO ${table} (scope, user_group_id, token_fingerprint, live_since, live_until)
   SELECT scope, user_group_id, token_fingerprint, token_since, ${until}
   FROM ${groups} WHERE scope = $1 AND ${HAS_TOKEN} AND ${which}`;
