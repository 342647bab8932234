import { type Apply, fingerprintOf, intentOf } from "../../core/change.ts";
import { tokenFingerprint } from "../../core/group.ts";
import { UNKNOWN_STATE } from "../../core/ledger-group.ts";
import type { Applied, Failed, Failure, NotUpdated } from "../../core/outcome.ts";
import type { RecordedOutcome } from "../../ports/ledger.ts";
import type { Queryable } from "./database.ts";
import { formerTokens } from "./ledger-rotations.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { storable } from "./storable.ts";

/** Records what became of the calls: one statement for all of a kind, and none where there is none of it. */
export class OutcomeWriter {
  readonly #connection: Queryable;
  readonly #tables: LedgerTables;
  readonly #scope: string;

  constructor(connection: Queryable, tables: LedgerTables, scope: string) {
    this.#connection = connection;
    this.#tables = tables;
    this.#scope = scope;
  }

  async write(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    const applied: object[] = [];
    const undeleted: FailedRow[] = [];
    const deleted: string[] = [];
    const removals: { id: string; kind: "delete" | "replace" }[] = [];
    /** Groups that may have a token already: null where theirs dies for good. */
    const retokened: { id: string; token: string | null }[] = [];
    for (const { outcome, retryAt } of outcomes) {
      const id = outcome.change.user_group_id;
      if (outcome.kind === "deleted") retokened.push({ id, token: null });
      else if (outcome.kind !== "failed" && outcome.change.kind !== "create") {
        retokened.push({ id, token: tokenFingerprint(outcome.token) });
      }
      switch (outcome.kind) {
        case "failed":
          if (outcome.change.kind === "delete") undeleted.push(failedRow(outcome, retryAt));
          else applied.push({ ...failedRow(outcome, retryAt), bucket: outcome.change.row.bucket });
          break;
        case "not_updated":
          applied.push(notUpdatedRow(outcome, retryAt));
          break;
        case "deleted":
          deleted.push(id);
          removals.push({ id, kind: "delete" });
          break;
        case "replaced":
          removals.push({ id, kind: "replace" });
          applied.push(appliedRow(outcome));
          break;
        case "created":
        case "adopted":
        case "updated":
          applied.push(appliedRow(outcome));
      }
    }
    if (retokened.length > 0) await this.#keepFormerTokens(retokened, now);
    if (applied.length > 0) await this.#recordApplied(applied, now);
    if (undeleted.length > 0) await this.#recordUndeleted(undeleted, now);
    if (deleted.length > 0) await this.#closeRows(deleted);
    if (removals.length > 0) await this.#countRemovals(removals, now);
  }

  async #recordApplied(rows: readonly object[], now: Date): Promise<void> {
    // The rows are there since `begin`. An upsert finds each by the primary key; for an update that joins them,
    // the planner takes a table that has just been filled for a small one, and reads all of it every time.
    await this.#connection.query(
      `INSERT INTO ${this.#tables.groups} AS g
         (scope, user_group_id, bucket, row_digest, fingerprint, confirmed, service_name, token_fingerprint,
          data_source_id, unverified, intent, failure_fingerprint, failure_code, failure_message, retry_at,
          created_at, updated_at)
       SELECT $1, t.*, $3, $3
       FROM json_to_recordset($2) AS t (
         id text, bucket smallint, row_digest bigint, fingerprint text, confirmed text, service_name text,
         token_fingerprint text, data_source_id text, unverified text, intent text, failure_fingerprint text,
         failure_code text, failure_message text, retry_at timestamptz)
       ON CONFLICT (scope, user_group_id) DO UPDATE
       SET bucket = excluded.bucket,
           row_digest = coalesce(excluded.row_digest, g.row_digest),
           fingerprint = coalesce(
             excluded.fingerprint, g.fingerprint, CASE WHEN excluded.service_name IS NOT NULL THEN $4 END),
           confirmed = coalesce(excluded.confirmed, g.confirmed),
           service_name = coalesce(excluded.service_name, g.service_name),
           token_since = CASE
             WHEN excluded.token_fingerprint IS NULL OR excluded.token_fingerprint = g.token_fingerprint
             THEN g.token_since ELSE excluded.updated_at END,
           token_fingerprint = coalesce(excluded.token_fingerprint, g.token_fingerprint),
           data_source_id = CASE WHEN excluded.confirmed IS NULL THEN g.data_source_id ELSE excluded.data_source_id END,
           unverified = CASE WHEN excluded.confirmed IS NULL THEN g.unverified ELSE excluded.unverified END,
           intent = CASE WHEN excluded.intent IS NOT NULL THEN g.intent END,
           intent_at = CASE WHEN excluded.intent IS NOT NULL THEN g.intent_at END,
           missing_since = NULL, missing_kind = NULL, missing_ms = NULL, missing_reads = NULL,
           held = NULL,
           failure_fingerprint = excluded.failure_fingerprint,
           failure_code = excluded.failure_code,
           failure_message = excluded.failure_message,
           failure_count = CASE WHEN excluded.failure_code IS NULL THEN 0 ELSE g.failure_count + 1 END,
           retry_at = excluded.retry_at,
           updated_at = excluded.updated_at`,
      [this.#scope, JSON.stringify(rows), now, UNKNOWN_STATE],
    );
  }

  /** The tenants are as gone as before. */
  async #recordUndeleted(rows: readonly FailedRow[], now: Date): Promise<void> {
    await this.#connection.query(
      `UPDATE ${this.#tables.groups} AS g
       SET intent = CASE WHEN t.intent IS NOT NULL THEN g.intent END,
           intent_at = CASE WHEN t.intent IS NOT NULL THEN g.intent_at END,
           failure_fingerprint = t.failure_fingerprint,
           failure_code = t.failure_code,
           failure_message = t.failure_message,
           failure_count = g.failure_count + 1,
           retry_at = t.retry_at,
           updated_at = $3
       FROM json_to_recordset($2) AS t (
         id text, intent text, failure_fingerprint text, failure_code text, failure_message text,
         retry_at timestamptz)
       WHERE g.scope = $1 AND g.user_group_id = ANY ($4) AND g.user_group_id = t.id`,
      [this.#scope, JSON.stringify(rows), now, rows.map(({ id }) => id)],
    );
  }

  async #keepFormerTokens(tokens: readonly { id: string; token: string | null }[], now: Date): Promise<void> {
    const which = `user_group_id = ANY ($2) AND (user_group_id, token_fingerprint) NOT IN (
      SELECT t.id, t.token FROM unnest($2::text[], $3::text[]) AS t (id, token) WHERE t.token IS NOT NULL)`;
    await this.#connection.query(formerTokens(this.#tables, which, "$4"), [
      this.#scope,
      tokens.map(({ id }) => id),
      tokens.map(({ token }) => token),
      now,
    ]);
  }

  async #closeRows(ids: readonly string[]): Promise<void> {
    await this.#connection.query(
      `DELETE FROM ${this.#tables.groups} WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, ids],
    );
  }

  async #countRemovals(removals: readonly { id: string; kind: string }[], now: Date): Promise<void> {
    await this.#connection.query(
      `INSERT INTO ${this.#tables.removals} (scope, removed_at, user_group_id, kind)
       SELECT $1, $4, t.id, t.kind FROM unnest($2::text[], $3::text[]) AS t (id, kind)`,
      [this.#scope, removals.map(({ id }) => id), removals.map(({ kind }) => kind), now],
    );
  }
}

/** In all rows, nulls leave the column as it is, except for the failure, which is replaced or cleared. */
function appliedRow({ kind, change, token, serviceName, unverified }: Applied) {
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

const notUpdatedRow = (outcome: NotUpdated, retryAt: Date | undefined) => ({
  ...answeredRow(outcome.change, outcome),
  ...failureColumns(fingerprintOf(outcome.change), outcome.failure, retryAt),
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

const failedRow = ({ change, failure, mayHaveHappened }: Failed, retryAt: Date | undefined) => ({
  id: change.user_group_id,
  intent: mayHaveHappened ? intentOf(change) : null,
  ...failureColumns(fingerprintOf(change), failure, retryAt),
});

type FailedRow = ReturnType<typeof failedRow>;

const failureColumns = (fingerprint: string, { code, message }: Failure, retryAt: Date | undefined) => ({
  failure_fingerprint: fingerprint,
  failure_code: code,
  failure_message: storable(message),
  retry_at: retryAt?.toISOString() ?? null,
});
