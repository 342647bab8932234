import { isFoundGone } from "../../../core/apply/outcome.ts";
import type { FailureKind } from "../../../core/failure/group-failures.ts";
import { tokenFingerprint } from "../../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../../core/group/ledger-group.ts";
import { isForToken, isRestored } from "../../../core/plan/change.ts";
import type { RecordedOutcome } from "../../../ports/ledger/groups.ts";
import type { Assignments } from "../dialect/dialect.ts";
import { NOTHING_MISSING } from "./deletions.ts";
import { formerTokens } from "./rotations.ts";
import {
  APPLIED_COLUMNS,
  appliedRow,
  FAILURES,
  type FailedRow,
  failedRow,
  noFailure,
  notEverywhereValues,
  notUpdatedRow,
  UNDELETED_COLUMNS,
  unremovedRow,
  untoldRow,
} from "./rows.ts";
import { jsonBatches, type LedgerScope, ofIds, updateGroups } from "./scope.ts";

/** Columns that are null once the group is deleted. */
const OF_A_GROUP = [
  ...[
    "row_digest",
    "fingerprint",
    "confirmed",
    "service_name",
    "token_fingerprint",
    "shared_token",
    "token_since",
    "verified_at",
  ],
  ...["data_source_id", "unverified", "intent_fingerprint", "held"],
] as const;

/** The tenant is there: nothing waits to be deleted. */
const PRESENT = { ...NOTHING_MISSING, held: "NULL" };

/** Records what became of the calls, with one statement for each kind of outcome that occurs. */
export const recordOutcomes = (
  ledger: LedgerScope,
  outcomes: readonly RecordedOutcome[],
  now: Date,
): Promise<void> => new OutcomeWriter(ledger).write(outcomes, now);

class OutcomeWriter {
  readonly #ledger: LedgerScope;

  constructor(ledger: LedgerScope) {
    this.#ledger = ledger;
  }

  async write(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    const applied: AnswerRow[] = [];
    const refreshed: AnswerRow[] = [];
    const restored: AnswerRow[] = [];
    const undeleted: FailedRow[] = [];
    const unremoved: FailedRow[] = [];
    const deleted: string[] = [];
    const replaced: string[] = [];
    /** A refresh found them gone. */
    const gone: string[] = [];
    /** Groups that may have had another token before; null if their token is dead and has no successor. */
    const retokened: { id: string; token: string | null }[] = [];
    for (const { outcome, retryAt, notEverywhere, notRemoved, sharedToken } of outcomes) {
      const id = outcome.change.user_group_id;
      const answers = isRestored(outcome.change)
        ? restored
        : isForToken(outcome.change)
          ? refreshed
          : applied;
      if (isFoundGone(outcome)) gone.push(id);
      if (outcome.kind === "deleted") retokened.push({ id, token: null });
      else if (outcome.kind !== "failed" && outcome.change.kind !== "create") {
        retokened.push({ id, token: tokenFingerprint(outcome.token) });
      }
      switch (outcome.kind) {
        case "failed":
          if (outcome.change.kind === "delete") undeleted.push(failedRow(outcome, retryAt));
          else
            answers.push({
              ...(isForToken(outcome.change) ? untoldRow(outcome, retryAt) : failedRow(outcome, retryAt)),
              bucket: outcome.change.row.bucket,
              shared_token: sharedToken ?? null,
            });
          break;
        case "not_updated":
          if (outcome.wasRemoved) replaced.push(id);
          answers.push(notUpdatedRow(outcome, retryAt));
          break;
        case "deleted":
          deleted.push(id);
          if (notRemoved) unremoved.push(unremovedRow(outcome, notRemoved, retryAt));
          break;
        case "replaced":
          replaced.push(id);
          answers.push({ ...appliedRow(outcome), ...notEverywhereValues(notEverywhere, retryAt) });
          break;
        case "created":
        case "adopted":
        case "updated":
          answers.push({ ...appliedRow(outcome), ...notEverywhereValues(notEverywhere, retryAt) });
      }
    }
    if (retokened.length > 0) await this.#keepFormerTokens(retokened, now);
    await this.#recordAnswers(applied, { isThere: true, isVerified: true }, now);
    // Nobody has looked whether the tenant is there: a full sync may have found meanwhile that it is gone.
    await this.#recordAnswers(refreshed, { isThere: false, isVerified: true }, now);
    // Nobody has compared the name, either.
    await this.#recordAnswers(restored, { isThere: false, isVerified: false }, now);
    if (undeleted.length > 0) await this.#recordUndeleted(undeleted, now);
    if (deleted.length > 0) await this.#countRemovals("delete", deleted, now);
    if (replaced.length > 0) await this.#countRemovals("replace", replaced, now);
    if (gone.length > 0) await this.#countRemovals("gone", gone, now);
    const open = new Set(unremoved.map(({ id }) => id));
    const closed = deleted.filter((id) => !open.has(id));
    if (unremoved.length > 0) await this.#recordUnremoved(unremoved, now);
    if (closed.length > 0) await this.#closeRows(closed);
  }

  async #recordAnswers(
    answers: readonly AnswerRow[],
    { isThere, isVerified }: { readonly isThere: boolean; readonly isVerified: boolean },
    now: Date,
  ): Promise<void> {
    if (answers.length === 0) return;
    // Leave out the columns that are null in all rows. Most columns are for failures, and to read a column from JSON costs
    // a database as much time as to write it.
    const columns = Object.fromEntries(
      Object.entries(APPLIED_COLUMNS).filter(([name]) => answers.some((row) => (row[name] ?? null) !== null)),
    );
    // `begin` has inserted the rows, but use an upsert: it finds each row by the primary key. For an UPDATE with a
    // join, PostgreSQL would read the whole table as long as a new table has no statistics.
    const { connection, dialect, scope, tables } = this.#ledger;
    const statement = dialect.upsert({
      into: tables.groups,
      columns: ["scope", "user_group_id", ...Object.keys(columns), "created_at", "updated_at"],
      from: `SELECT $1, t.*, $3, $3 FROM ${dialect.rows("$2", { id: "id", ...columns })}`,
      key: ["scope", "user_group_id"],
      set: (is, was) => ({
        ...failures("rotation", is, was, isSameToken(is, was)),
        bucket: is("bucket"),
        row_digest: `coalesce(${is("row_digest")}, ${was("row_digest")})`,
        fingerprint: `coalesce(${is("fingerprint")}, ${was("fingerprint")},
            CASE WHEN ${is("service_name")} IS NOT NULL THEN $4 END)`,
        confirmed: `coalesce(${is("confirmed")}, ${was("confirmed")})`,
        service_name: `coalesce(${is("service_name")}, ${was("service_name")})`,
        token_since: `CASE WHEN ${isSameToken(is, was)}
            THEN ${was("token_since")} ELSE ${is("updated_at")} END`,
        ...(isThere && PRESENT),
        ...(isVerified && {
          verified_at: `CASE WHEN ${is("token_fingerprint")} IS NULL
              THEN ${was("verified_at")} ELSE ${is("updated_at")} END`,
        }),
        shared_token: `CASE WHEN ${is("token_fingerprint")} IS NULL
            THEN coalesce(${is("shared_token")}, ${was("shared_token")}) END`,
        token_fingerprint: `coalesce(${is("token_fingerprint")}, ${was("token_fingerprint")})`,
        data_source_id: `CASE WHEN ${is("confirmed")} IS NULL
            THEN ${was("data_source_id")} ELSE ${is("data_source_id")} END`,
        unverified: `CASE WHEN ${is("confirmed")} IS NULL
            THEN ${was("unverified")} ELSE ${is("unverified")} END`,
        intent: `CASE WHEN ${is("intent")} IS NOT NULL THEN ${was("intent")} END`,
        intent_at: `CASE WHEN ${is("intent")} IS NOT NULL THEN ${was("intent_at")} END`,
        ...failures("change", is, was, `${is("confirmed")} IS NULL`),
        ...failures("storing", is, was, `${is("token_fingerprint")} IS NULL`),
        updated_at: is("updated_at"),
      }),
    });
    for (const rows of jsonBatches(answers)) {
      await connection.query(statement, [scope, rows, now, UNKNOWN_STATE]);
    }
  }

  /** Leaves the absence of the tenants as it is. */
  #recordUndeleted(rows: readonly FailedRow[], now: Date): Promise<void> {
    const set = {
      intent_at: "CASE WHEN t.intent IS NOT NULL THEN g.intent_at END",
      intent: "CASE WHEN t.intent IS NOT NULL THEN g.intent END",
      ...CHANGE_FAILED,
      updated_at: "$4",
    };
    return updateGroups(this.#ledger, rows, UNDELETED_COLUMNS, set, [now]);
  }

  /** The groups are deleted, but their tokens are still stored. */
  #recordUnremoved(rows: readonly FailedRow[], now: Date): Promise<void> {
    const set = {
      ...Object.fromEntries(OF_A_GROUP.map((column) => [column, "NULL"])),
      ...noFailure("rotation"),
      ...noFailure("storing"),
      intent: "t.intent",
      intent_at: "coalesce(g.intent_at, $4)",
      ...CHANGE_FAILED,
      updated_at: "$4",
    };
    return updateGroups(this.#ledger, rows, UNDELETED_COLUMNS, set, [now]);
  }

  async #keepFormerTokens(tokens: readonly { id: string; token: string | null }[], now: Date): Promise<void> {
    const { isOneOf, rows } = this.#ledger.dialect;
    const which = `${isOneOf("user_group_id", "$2")} AND (user_group_id, token_fingerprint) NOT IN (
      SELECT t.id, t.token FROM ${rows("$3", { id: "id", token: "text" })} WHERE t.token IS NOT NULL)`;
    await this.#ledger.connection.query(formerTokens(this.#ledger.tables, which, "$4"), [
      this.#ledger.scope,
      tokens.map(({ id }) => id),
      JSON.stringify(tokens),
      now,
    ]);
  }

  async #closeRows(ids: readonly string[]): Promise<void> {
    await this.#ledger.connection.query(
      `DELETE FROM ${this.#ledger.tables.groups} WHERE ${ofIds(this.#ledger)}`,
      [this.#ledger.scope, ids],
    );
  }

  /** Skips groups whose removal was already counted when the service deleted them. */
  async #countRemovals(
    kind: "delete" | "replace" | "gone",
    ids: readonly string[],
    now: Date,
  ): Promise<void> {
    const { connection, tables, dialect, scope } = this.#ledger;
    await connection.query(
      `INSERT INTO ${tables.removals} (scope, removed_at, user_group_id, kind)
       SELECT scope, $3, user_group_id, ${dialect.literal(kind)} FROM ${tables.groups}
       WHERE ${ofIds(this.#ledger)} AND (intent IS NULL OR intent <> 'remove')`,
      [scope, ids, now],
    );
  }
}

/** What an answer sets in its group's row. */
type AnswerRow = Readonly<Record<string, unknown>>;

type Column = (name: string) => string;

/** A condition: the new row has no other token than the old row. */
const isSameToken = (is: Column, was: Column): string =>
  `(${is("token_fingerprint")} IS NULL OR ${is("token_fingerprint")} = ${was("token_fingerprint")})`;

/** A new failure of this kind replaces the old failure. Without a new one, the old failure stays if `lasts` is true. */
function failures(kind: FailureKind, is: Column, was: Column, lasts: string): Assignments {
  const { code, message, count, retryAt, since } = FAILURES[kind];
  const next = (column: string, ifFailed: string): string =>
    `CASE WHEN ${is(code)} IS NOT NULL THEN ${ifFailed} WHEN ${lasts} THEN ${was(column)} END`;
  const texts = [code, message, retryAt, ...(kind === "change" ? ["failure_fingerprint"] : [])];
  return {
    ...Object.fromEntries(texts.map((column) => [column, next(column, is(column))])),
    [since]: next(since, `coalesce(${was(since)}, ${is("updated_at")})`),
    [count]: `coalesce(${next(count, `${was(count)} + 1`)}, 0)`,
  };
}

/** The group could not be deleted. */
const CHANGE_FAILED: Assignments = {
  failing_since: "coalesce(g.failing_since, $4)",
  failure_fingerprint: "t.failure_fingerprint",
  failure_code: "t.failure_code",
  failure_message: "t.failure_message",
  failure_count: "g.failure_count + 1",
  retry_at: "t.retry_at",
};
