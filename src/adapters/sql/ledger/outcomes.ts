import {
  type Applied,
  type Failed,
  isFoundGone,
  type NotUpdated,
  type Outcome,
} from "../../../core/apply/outcome.ts";
import type { FailureKind } from "../../../core/failure/group-failures.ts";
import type { Failure } from "../../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../../core/group/ledger-group.ts";
import {
  type Apply,
  type Change,
  fingerprintOf,
  intentOf,
  isForToken,
  isRestored,
} from "../../../core/plan/change.ts";
import type { RecordedOutcome } from "../../../ports/ledger/groups.ts";
import { storable } from "../connection/storable.ts";
import type { Assignments } from "../dialect/dialect.ts";
import { NOTHING_MISSING } from "./deletions.ts";
import { formerTokens } from "./rotations.ts";
import { failureValues, noFailure } from "./rows.ts";
import { jsonBatches, type LedgerScope, ofIds, updateGroups } from "./scope.ts";

/**
 * The columns, beside the id, that an applied change can set. A column without a value in any row is left out of the
 * statement: it must be null by default, or have a value in every row, as `bucket` has.
 */
const APPLIED_COLUMNS = {
  bucket: "integer",
  row_digest: "bigint",
  fingerprint: "text",
  confirmed: "text",
  service_name: "text",
  token_fingerprint: "text",
  shared_token: "text",
  data_source_id: "text",
  unverified: "text",
  intent: "text",
  change_fingerprint: "text",
  change_code: "text",
  change_message: "text",
  change_retry_at: "time",
  storing_code: "text",
  storing_message: "text",
  storing_retry_at: "time",
} as const;
/** The columns that a failed deletion can set. */
const UNDELETED_COLUMNS = {
  id: "id",
  intent: "text",
  change_fingerprint: "text",
  change_code: "text",
  change_message: "text",
  change_retry_at: "time",
} as const;

/** What an answer or a failure sets in its group's row. */
type OutcomeRow = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * A null leaves its column as it is, except for failures: a row with a confirmed group clears the change's failure, a
 * row with a token clears the failure of storing it, and a row with a new token clears the rotation's failure.
 */
function appliedRow({ kind, change, token, serviceName, unverified }: Applied): OutcomeRow {
  // The call was for the token only: the group, and the failure of a change of it, stay as they are.
  if (isForToken(change)) return answeredRow(change, { token, serviceName });
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

const notUpdatedRow = (outcome: NotUpdated, retryAt: Date | undefined): OutcomeRow => ({
  ...answeredRow(outcome.change, outcome),
  // If the group was as desired, nothing but this makes a plan look at it again.
  ...(outcome.isUnknownState && { fingerprint: UNKNOWN_STATE }),
  ...changeFailed(outcome.change, outcome.failure, retryAt),
});

const answeredRow = (
  { user_group_id, row }: Apply,
  { token, serviceName }: Pick<Applied, "token" | "serviceName">,
): OutcomeRow => ({
  id: user_group_id,
  bucket: row.bucket,
  service_name: storable(serviceName),
  token_fingerprint: tokenFingerprint(token),
});

const failedRow = ({ change, failure, mayHaveHappened }: Failed, retryAt: Date | undefined): OutcomeRow => ({
  id: change.user_group_id,
  intent: mayHaveHappened ? intentOf(change) : null,
  ...(isForToken(change)
    ? failureValues("storing", failure, retryAt)
    : changeFailed(change, failure, retryAt)),
});

const changeFailed = (change: Change, failure: Failure, retryAt: Date | undefined) => ({
  change_fingerprint: fingerprintOf(change),
  ...failureValues("change", failure, retryAt),
});

/** Records what became of the calls, with one statement for each kind of outcome that occurs. */
export async function recordOutcomes(
  ledger: LedgerScope,
  outcomes: readonly RecordedOutcome[],
  now: Date,
): Promise<void> {
  const applied: OutcomeRow[] = [];
  const refreshed: OutcomeRow[] = [];
  const restored: OutcomeRow[] = [];
  const undeleted: OutcomeRow[] = [];
  const unremoved: OutcomeRow[] = [];
  for (const { outcome, retryAt, notEverywhere, notRemoved, sharedToken } of outcomes) {
    const { change } = outcome;
    const answers = isRestored(change) ? restored : isForToken(change) ? refreshed : applied;
    switch (outcome.kind) {
      case "failed": {
        const row = failedRow(outcome, retryAt);
        if (change.kind === "delete") undeleted.push(row);
        else answers.push({ ...row, bucket: change.row.bucket, shared_token: sharedToken ?? null });
        break;
      }
      case "not_updated":
        answers.push(notUpdatedRow(outcome, retryAt));
        break;
      case "deleted":
        if (notRemoved)
          unremoved.push({
            id: change.user_group_id,
            intent: "remove",
            ...changeFailed(change, notRemoved, retryAt),
          });
        break;
      default:
        answers.push({
          ...appliedRow(outcome),
          ...(notEverywhere && failureValues("storing", notEverywhere, retryAt)),
        });
    }
  }
  const idsOf = (isMeant: (outcome: Outcome) => boolean): string[] =>
    outcomes.flatMap(({ outcome }) => (isMeant(outcome) ? [outcome.change.user_group_id] : []));
  const deleted = idsOf(({ kind }) => kind === "deleted");

  await keepFormerTokens(ledger, outcomes, now);
  await recordAnswers(ledger, applied, { isThere: true, isVerified: true }, now);
  // Nobody has looked whether the tenant is there: a full sync may have found meanwhile that it is gone.
  await recordAnswers(ledger, refreshed, { isThere: false, isVerified: true }, now);
  // Nobody has compared the name, either.
  await recordAnswers(ledger, restored, { isThere: false, isVerified: false }, now);
  await updateGroups(ledger, undeleted, UNDELETED_COLUMNS, NOT_DELETED, [now]);
  await countRemovals(ledger, "delete", deleted, now);
  await countRemovals(ledger, "replace", idsOf(isReplaced), now);
  await countRemovals(ledger, "gone", idsOf(isFoundGone), now);
  await updateGroups(ledger, unremoved, UNDELETED_COLUMNS, NOT_REMOVED, [now]);
  const open = new Set(unremoved.map(({ id }) => id));
  const closed = deleted.filter((id) => !open.has(id));
  if (closed.length > 0) {
    await ledger.connection.query(`DELETE FROM ${ledger.tables.groups} WHERE ${ofIds(ledger)}`, [
      ledger.scope,
      closed,
    ]);
  }
}

const isReplaced = (outcome: Outcome): boolean =>
  outcome.kind === "replaced" || (outcome.kind === "not_updated" && outcome.wasRemoved);

async function recordAnswers(
  { connection, dialect, scope, tables }: LedgerScope,
  answers: readonly OutcomeRow[],
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
      // The tenant is there: nothing waits to be deleted.
      ...(isThere && { ...NOTHING_MISSING, held: "NULL" }),
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

type Column = (name: string) => string;

/** A condition: the new row has no other token than the old row. */
const isSameToken = (is: Column, was: Column): string =>
  `(${is("token_fingerprint")} IS NULL OR ${is("token_fingerprint")} = ${was("token_fingerprint")})`;

/** A new failure of this kind replaces the old failure. Without a new one, the old failure stays if `lasts` is true. */
function failures(kind: FailureKind, is: Column, was: Column, lasts: string): Assignments {
  const [code, count, since] = [`${kind}_code`, `${kind}_count`, `${kind}_since`];
  const next = (column: string, ifFailed: string): string =>
    `CASE WHEN ${is(code)} IS NOT NULL THEN ${ifFailed} WHEN ${lasts} THEN ${was(column)} END`;
  const texts = [code, `${kind}_message`, `${kind}_retry_at`];
  if (kind === "change") texts.push("change_fingerprint");
  return {
    ...Object.fromEntries(texts.map((column) => [column, next(column, is(column))])),
    [since]: next(since, `coalesce(${was(since)}, ${is("updated_at")})`),
    [count]: `coalesce(${next(count, `${was(count)} + 1`)}, 0)`,
  };
}

/** The change of a row of `UNDELETED_COLUMNS` has failed. */
const CHANGE_FAILED: Assignments = {
  change_since: "coalesce(g.change_since, $4)",
  change_fingerprint: "t.change_fingerprint",
  change_code: "t.change_code",
  change_message: "t.change_message",
  change_count: "g.change_count + 1",
  change_retry_at: "t.change_retry_at",
  updated_at: "$4",
};

/** The group could not be deleted. Leaves the absence of its tenant as it is. */
const NOT_DELETED: Assignments = {
  intent_at: "CASE WHEN t.intent IS NOT NULL THEN g.intent_at END",
  intent: "CASE WHEN t.intent IS NOT NULL THEN g.intent END",
  ...CHANGE_FAILED,
};

/** The group is deleted, but its token is still stored. */
const NOT_REMOVED: Assignments = {
  row_digest: "NULL",
  fingerprint: "NULL",
  confirmed: "NULL",
  service_name: "NULL",
  data_source_id: "NULL",
  unverified: "NULL",
  verified_at: "NULL",
  token_fingerprint: "NULL",
  token_since: "NULL",
  shared_token: "NULL",
  held: "NULL",
  ...noFailure("rotation"),
  ...noFailure("storing"),
  intent_fingerprint: "NULL",
  intent: "t.intent",
  intent_at: "coalesce(g.intent_at, $4)",
  ...CHANGE_FAILED,
};

/** Remembers the tokens that the groups had until now, if they have another one or none from now on. */
async function keepFormerTokens(
  { connection, dialect, scope, tables }: LedgerScope,
  outcomes: readonly RecordedOutcome[],
  now: Date,
): Promise<void> {
  const tokens = outcomes.flatMap(({ outcome }) => {
    const { kind, change } = outcome;
    if (kind === "failed" || change.kind === "create") return [];
    return [{ id: change.user_group_id, token: kind === "deleted" ? null : tokenFingerprint(outcome.token) }];
  });
  if (tokens.length === 0) return;
  const which = `${dialect.isOneOf("user_group_id", "$2")} AND (user_group_id, token_fingerprint) NOT IN (
    SELECT t.id, t.token FROM ${dialect.rows("$3", { id: "id", token: "text" })} WHERE t.token IS NOT NULL)`;
  await connection.query(formerTokens(tables, which, "$4"), [
    scope,
    tokens.map(({ id }) => id),
    JSON.stringify(tokens),
    now,
  ]);
}

/** Skips groups whose removal was already counted when the service deleted them. */
async function countRemovals(
  ledger: LedgerScope,
  kind: "delete" | "replace" | "gone",
  ids: readonly string[],
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  const { connection, tables, dialect, scope } = ledger;
  await connection.query(
    `INSERT INTO ${tables.removals} (scope, removed_at, user_group_id, kind)
     SELECT scope, $3, user_group_id, ${dialect.literal(kind)} FROM ${tables.groups}
     WHERE ${ofIds(ledger)} AND (intent IS NULL OR intent <> 'remove')`,
    [scope, ids, now],
  );
}
