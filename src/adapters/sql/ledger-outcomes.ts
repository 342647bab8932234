import { isForToken } from "../../core/change.ts";
import { tokenFingerprint } from "../../core/group.ts";
import { UNKNOWN_STATE } from "../../core/ledger-group.ts";
import type { RecordedOutcome } from "../../ports/ledger.ts";
import type { Assignments } from "./dialect.ts";
import { jsonPortions } from "./json-portions.ts";
import {
  APPLIED_COLUMNS,
  appliedRow,
  copiesColumns,
  type FailedRow,
  failedRow,
  notUpdatedRow,
  UNDELETED_COLUMNS,
  unremovedRow,
  untoldRow,
} from "./ledger-outcome-rows.ts";
import { type LedgerPlace, ofIds, updateGroups } from "./ledger-place.ts";
import { formerTokens } from "./ledger-rotations.ts";

const APPLIED = Object.keys(APPLIED_COLUMNS);

/** What the ledger knows of a group, as long as there is one. */
const OF_A_GROUP = [
  ...[
    "row_digest",
    "fingerprint",
    "confirmed",
    "service_name",
    "token_fingerprint",
    "shared_token",
    "token_since",
  ],
  ...["data_source_id", "unverified", "intent_fingerprint", "held"],
  ...["copies_code", "copies_message", "copies_retry_at", "copies_since"],
] as const;

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
    const unremoved: FailedRow[] = [];
    const deleted: string[] = [];
    const replaced: string[] = [];
    /** Groups that may have a token already: null where theirs dies for good. */
    const retokened: { id: string; token: string | null }[] = [];
    for (const { outcome, retryAt, notEverywhere, notRemoved, sharedToken } of outcomes) {
      const id = outcome.change.user_group_id;
      if (outcome.kind === "deleted") retokened.push({ id, token: null });
      else if (outcome.kind !== "failed" && outcome.change.kind !== "create") {
        retokened.push({ id, token: tokenFingerprint(outcome.token) });
      }
      switch (outcome.kind) {
        case "failed":
          if (outcome.change.kind === "delete") undeleted.push(failedRow(outcome, retryAt));
          else
            applied.push({
              ...(isForToken(outcome.change) ? untoldRow(outcome, retryAt) : failedRow(outcome, retryAt)),
              bucket: outcome.change.row.bucket,
              shared_token: sharedToken ?? null,
            });
          break;
        case "not_updated":
          applied.push(notUpdatedRow(outcome, retryAt));
          break;
        case "deleted":
          deleted.push(id);
          if (notRemoved) unremoved.push(unremovedRow(outcome, notRemoved, retryAt));
          break;
        case "replaced":
          replaced.push(id);
          applied.push({ ...appliedRow(outcome), ...copiesColumns(notEverywhere, retryAt) });
          break;
        case "created":
        case "adopted":
        case "updated":
          applied.push({ ...appliedRow(outcome), ...copiesColumns(notEverywhere, retryAt) });
      }
    }
    if (retokened.length > 0) await this.#keepFormerTokens(retokened, now);
    for (const portion of jsonPortions(applied)) await this.#recordApplied(portion, now);
    if (undeleted.length > 0) await this.#recordUndeleted(undeleted, now);
    if (deleted.length > 0) await this.#countRemovals("delete", deleted, now);
    if (replaced.length > 0) await this.#countRemovals("replace", replaced, now);
    const open = new Set(unremoved.map(({ id }) => id));
    const closed = deleted.filter((id) => !open.has(id));
    if (unremoved.length > 0) await this.#recordUnremoved(unremoved, now);
    if (closed.length > 0) await this.#closeRows(closed);
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
          shared_token: `CASE WHEN ${is("token_fingerprint")} IS NULL
            THEN coalesce(${is("shared_token")}, ${was("shared_token")}) END`,
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
          ...failure(CHANGE, is, was),
          ...failure(COPIES, is, was),
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
      failure_fingerprint: "t.failure_fingerprint",
      failure_code: "t.failure_code",
      failure_message: "t.failure_message",
      failure_count: "g.failure_count + 1",
      retry_at: "t.retry_at",
      updated_at: "$4",
    };
    return updateGroups(this.#place, rows, UNDELETED_COLUMNS, set, [now]);
  }

  /** There is no group any more, and no token that is live. */
  #recordUnremoved(rows: readonly FailedRow[], now: Date): Promise<void> {
    const set = {
      ...Object.fromEntries(OF_A_GROUP.map((column) => [column, "NULL"])),
      copies_count: "0",
      intent: "t.intent",
      intent_at: "coalesce(g.intent_at, $4)",
      failing_since: "coalesce(g.failing_since, $4)",
      failure_fingerprint: "t.failure_fingerprint",
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

  /** Skips groups whose removal was counted when the service deleted them. */
  async #countRemovals(kind: "delete" | "replace", ids: readonly string[], now: Date): Promise<void> {
    const { connection, tables, dialect, scope } = this.#place;
    await connection.query(
      `INSERT INTO ${tables.removals} (scope, removed_at, user_group_id, kind)
       SELECT scope, $3, user_group_id, ${dialect.literal(kind)} FROM ${tables.groups}
       WHERE ${ofIds(this.#place)} AND (intent IS NULL OR intent <> 'remove')`,
      [scope, ids, now],
    );
  }
}

type Column = (name: string) => string;

/** The columns that one kind of failure is kept in. */
interface FailureColumns {
  /** Has a value if what could fail was done. */
  readonly done: string;
  readonly since: string;
  readonly code: string;
  readonly count: string;
  readonly others: readonly string[];
}

const CHANGE: FailureColumns = {
  done: "confirmed",
  since: "failing_since",
  code: "failure_code",
  count: "failure_count",
  others: ["failure_fingerprint", "failure_message", "retry_at"],
};

/** Of a token that is not in every store. */
const COPIES: FailureColumns = {
  done: "token_fingerprint",
  since: "copies_since",
  code: "copies_code",
  count: "copies_count",
  others: ["copies_message", "copies_retry_at"],
};

/** A new failure replaces the one before, and a success clears it. If there was neither, it stays. */
function failure({ done, since, code, count, others }: FailureColumns, is: Column, was: Column): Assignments {
  const isTold = `(${is(done)} IS NOT NULL OR ${is(code)} IS NOT NULL)`;
  const told = (column: string): [string, string] => [
    column,
    `CASE WHEN ${isTold} THEN ${is(column)} ELSE ${was(column)} END`,
  ];
  return {
    [since]: `CASE WHEN ${is(code)} IS NOT NULL THEN coalesce(${was(since)}, ${is("updated_at")})
      WHEN ${is(done)} IS NULL THEN ${was(since)} END`,
    [count]: `CASE WHEN ${is(code)} IS NOT NULL THEN ${was(count)} + 1
      WHEN ${is(done)} IS NULL THEN ${was(count)} ELSE 0 END`,
    ...Object.fromEntries([code, ...others].map(told)),
  };
}
