import { type Apply, fingerprintOf, intentOf } from "../../core/change.ts";
import { tokenFingerprint } from "../../core/group.ts";
import { UNKNOWN_STATE } from "../../core/ledger-group.ts";
import type { Applied, Failed, Failure, NotUpdated } from "../../core/outcome.ts";
import { NOT_EVERYWHERE } from "../../core/token-copies.ts";
import type { RecordedOutcome } from "../../ports/ledger.ts";
import { jsonPortions } from "./json-portions.ts";
import { type LedgerPlace, ofIds, updateGroups } from "./ledger-place.ts";
import { formerTokens } from "./ledger-rotations.ts";
import { storable } from "./storable.ts";

/** What can change of a group that was applied, beside its id. */
const APPLIED_COLUMNS = {
  bucket: "integer",
  row_digest: "bigint",
  fingerprint: "text",
  confirmed: "text",
  service_name: "text",
  token_fingerprint: "text",
  data_source_id: "text",
  unverified: "text",
  intent: "text",
  failure_fingerprint: "text",
  failure_code: "text",
  failure_message: "text",
  retry_at: "time",
} as const;
const APPLIED = Object.keys(APPLIED_COLUMNS);
const UNDELETED_COLUMNS = {
  id: "id",
  intent: "text",
  failure_fingerprint: "text",
  failure_code: "text",
  failure_message: "text",
  retry_at: "time",
} as const;

/** Records what became of the calls: one statement for all of a kind, and none where there is none of it. */
export const recordOutcomes = (
  place: LedgerPlace,
  outcomes: readonly RecordedOutcome[],
  now: Date,
): Promise<void> => new OutcomeWriter(place).write(outcomes, now);

class OutcomeWriter {
  readonly #place: LedgerPlace;

  constructor(place: LedgerPlace) {
    this.#place = place;
  }

  async write(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    const applied: object[] = [];
    const undeleted: FailedRow[] = [];
    const deleted: string[] = [];
    const removals: { id: string; kind: "delete" | "replace" }[] = [];
    /** Groups that may have a token already: null where theirs dies for good. */
    const retokened: { id: string; token: string | null }[] = [];
    for (const { outcome, retryAt, notEverywhere } of outcomes) {
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
          applied.push({ ...appliedRow(outcome), ...notStoredColumns(notEverywhere, retryAt) });
          break;
        case "created":
        case "adopted":
        case "updated":
          applied.push({ ...appliedRow(outcome), ...notStoredColumns(notEverywhere, retryAt) });
      }
    }
    if (retokened.length > 0) await this.#keepFormerTokens(retokened, now);
    for (const portion of jsonPortions(applied)) await this.#recordApplied(portion, now);
    if (undeleted.length > 0) await this.#recordUndeleted(undeleted, now);
    if (deleted.length > 0) await this.#closeRows(deleted);
    if (removals.length > 0) await this.#countRemovals(removals, now);
  }

  async #recordApplied(rows: string, now: Date): Promise<void> {
    // The rows are there since `begin`. An upsert finds each by the primary key; for an update that joins them,
    // PostgreSQL takes a table that has just been filled for a small one, and reads all of it every time.
    await this.#place.connection.query(
      this.#place.dialect.upsert({
        into: this.#place.tables.groups,
        columns: ["scope", "user_group_id", ...APPLIED, "created_at", "updated_at"],
        from: `SELECT $1, t.*, $3, $3 FROM ${this.#place.dialect.rows("$2", { id: "id", ...APPLIED_COLUMNS })}`,
        key: ["scope", "user_group_id"],
        set: (is, was) => ({
          bucket: is("bucket"),
          row_digest: `coalesce(${is("row_digest")}, ${was("row_digest")})`,
          fingerprint: `coalesce(${is("fingerprint")}, ${was("fingerprint")},
            CASE WHEN ${is("service_name")} IS NOT NULL THEN $4 END)`,
          confirmed: `coalesce(${is("confirmed")}, ${was("confirmed")})`,
          service_name: `coalesce(${is("service_name")}, ${was("service_name")})`,
          token_since: `CASE
            WHEN ${is("token_fingerprint")} IS NULL OR ${is("token_fingerprint")} = ${was("token_fingerprint")}
            THEN ${was("token_since")} ELSE ${is("updated_at")} END`,
          token_fingerprint: `coalesce(${is("token_fingerprint")}, ${was("token_fingerprint")})`,
          data_source_id: `CASE WHEN ${is("confirmed")} IS NULL
            THEN ${was("data_source_id")} ELSE ${is("data_source_id")} END`,
          unverified: `CASE WHEN ${is("confirmed")} IS NULL
            THEN ${was("unverified")} ELSE ${is("unverified")} END`,
          intent: `CASE WHEN ${is("intent")} IS NOT NULL THEN ${was("intent")} END`,
          intent_at: `CASE WHEN ${is("intent")} IS NOT NULL THEN ${was("intent_at")} END`,
          missing_since: "NULL",
          missing_kind: "NULL",
          missing_ms: "NULL",
          missing_reads: "NULL",
          held: "NULL",
          failing_since: `CASE WHEN ${is("failure_code")} IS NOT NULL
            THEN coalesce(${was("failing_since")}, ${is("updated_at")}) END`,
          failure_fingerprint: unlessNotEverywhere(
            `${is("service_name")} IS NULL AND ${is("intent")} IS NULL`,
            was("failure_fingerprint"),
            is("failure_fingerprint"),
          ),
          failure_code: is("failure_code"),
          failure_message: is("failure_message"),
          failure_count: `CASE WHEN ${is("failure_code")} IS NULL THEN 0 ELSE ${was("failure_count")} + 1 END`,
          retry_at: is("retry_at"),
          updated_at: is("updated_at"),
        }),
      }),
      [this.#place.scope, rows, now, UNKNOWN_STATE],
    );
  }

  /** The tenants are as gone as before. */
  #recordUndeleted(rows: readonly FailedRow[], now: Date): Promise<void> {
    const set = {
      intent_at: "CASE WHEN t.intent IS NOT NULL THEN g.intent_at END",
      intent: "CASE WHEN t.intent IS NOT NULL THEN g.intent END",
      failing_since: "coalesce(g.failing_since, $4)",
      failure_fingerprint: unlessNotEverywhere(
        "t.intent IS NULL",
        "g.failure_fingerprint",
        "t.failure_fingerprint",
      ),
      failure_code: "t.failure_code",
      failure_message: "t.failure_message",
      failure_count: "g.failure_count + 1",
      retry_at: "t.retry_at",
      updated_at: "$4",
    };
    return updateGroups(this.#place, rows, UNDELETED_COLUMNS, set, [now]);
  }

  async #keepFormerTokens(tokens: readonly { id: string; token: string | null }[], now: Date): Promise<void> {
    const { isOneOf, rows } = this.#place.dialect;
    const which = `${isOneOf("user_group_id", "$2")} AND (user_group_id, token_fingerprint) NOT IN (
      SELECT t.id, t.token FROM ${rows("$3", { id: "id", token: "text" })} WHERE t.token IS NOT NULL)`;
    await this.#place.connection.query(formerTokens(this.#place.tables, which, "$4"), [
      this.#place.scope,
      tokens.map(({ id }) => id),
      JSON.stringify(tokens),
      now,
    ]);
  }

  async #closeRows(ids: readonly string[]): Promise<void> {
    await this.#place.connection.query(
      `DELETE FROM ${this.#place.tables.groups} WHERE ${ofIds(this.#place)}`,
      [this.#place.scope, ids],
    );
  }

  async #countRemovals(removals: readonly { id: string; kind: string }[], now: Date): Promise<void> {
    await this.#place.connection.query(
      `INSERT INTO ${this.#place.tables.removals} (scope, removed_at, user_group_id, kind)
       SELECT $1, $3, t.id, t.kind FROM ${this.#place.dialect.rows("$2", { id: "id", kind: "text" })}`,
      [this.#place.scope, JSON.stringify(removals), now],
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

const notStoredColumns = (failure: Failure | undefined, retryAt: Date | undefined) =>
  failure ? failureColumns(NOT_EVERYWHERE, failure, retryAt) : {};

/** Where a change came to nothing, a store still lacks the token that it lacked before: what else was to tell it? */
const unlessNotEverywhere = (cameToNothing: string, was: string, is: string): string =>
  `CASE WHEN ${cameToNothing} AND ${was} = '${NOT_EVERYWHERE}' THEN ${was} ELSE ${is} END`;

const failureColumns = (fingerprint: string, { code, message }: Failure, retryAt: Date | undefined) => ({
  failure_fingerprint: fingerprint,
  failure_code: code,
  failure_message: storable(message),
  retry_at: retryAt?.toISOString() ?? null,
});
