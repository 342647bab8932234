import { ROTATED } from "../../core/rotation.ts";
import type { KnownToken, RotationResult } from "../../ports/ledger.ts";
import type { Queryable } from "./database.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { storable } from "./storable.ts";

/** The ledger's statements about the rotation of one token. */
export class RotationWriter {
  readonly #connection: Queryable;
  readonly #tables: LedgerTables;
  readonly #scope: string;

  constructor(connection: Queryable, tables: LedgerTables, scope: string) {
    this.#connection = connection;
    this.#tables = tables;
    this.#scope = scope;
  }

  async begin(id: string, now: Date): Promise<KnownToken | undefined> {
    // Joined with itself, for it returns the row as it was.
    const { rows } = await this.#connection.query<KnownToken>(
      `UPDATE ${this.#tables.groups} AS g
       SET intent = coalesce(g.intent, 'rotate'), intent_at = coalesce(g.intent_at, $3)
       FROM ${this.#tables.groups} AS known
       WHERE g.scope = $1 AND g.user_group_id = $2 AND known.scope = $1 AND known.user_group_id = $2
       RETURNING known.token_fingerprint AS "tokenFingerprint", known.intent, known.failure_count AS failures`,
      [this.#scope, id, now],
    );
    return rows[0];
  }

  async withdraw(id: string): Promise<void> {
    await this.#connection.query(
      `UPDATE ${this.#tables.groups} SET intent = NULL, intent_at = NULL
       WHERE scope = $1 AND user_group_id = $2 AND intent = 'rotate'`,
      [this.#scope, id],
    );
  }

  async record(
    { user_group_id, tokenFingerprint, failure, isOpen }: RotationResult,
    now: Date,
  ): Promise<void> {
    // The failure of another change stays: it says more than that of a rotation.
    const isOurs = `(failure_code IS NULL OR failure_fingerprint = '${ROTATED}')`;
    const ours = (column: string, value: string): string =>
      `${column} = CASE WHEN ${isOurs} THEN ${value} ELSE ${column} END`;
    await this.#connection.query(
      `WITH former AS (${formerTokens(this.#tables, "user_group_id = $2 AND token_fingerprint <> $3", "$4")})
       UPDATE ${this.#tables.groups}
       SET token_since = CASE WHEN $3 IS NULL OR token_fingerprint = $3 THEN token_since ELSE $4 END,
           token_fingerprint = coalesce($3, token_fingerprint),
           intent = CASE WHEN $5 THEN intent END,
           intent_at = CASE WHEN $5 THEN intent_at END,
           ${ours("failure_fingerprint", `CASE WHEN $6::text IS NOT NULL THEN '${ROTATED}' END`)},
           ${ours("failure_message", "$7")},
           ${ours("retry_at", "$8")},
           ${ours("failure_count", "CASE WHEN $6::text IS NULL THEN 0 ELSE failure_count + 1 END")},
           ${ours("failure_code", "$6")}
       WHERE scope = $1 AND user_group_id = $2`,
      [
        this.#scope,
        user_group_id,
        tokenFingerprint,
        now,
        isOpen,
        failure?.code ?? null,
        failure === null ? null : storable(failure.message),
        failure?.retryAt ?? null,
      ],
    );
  }
}

/** Keeps which token was live when, by its fingerprint, for the groups that `which` names; `until` is when it died. */
export const formerTokens = (
  { groups, formerTokens: table }: LedgerTables,
  which: string,
  until: string,
): string =>
  `INSERT INTO ${table} (scope, user_group_id, token_fingerprint, live_since, live_until)
   SELECT scope, user_group_id, token_fingerprint, token_since, ${until}::timestamptz
   FROM ${groups} WHERE scope = $1 AND token_fingerprint IS NOT NULL AND ${which}`;
