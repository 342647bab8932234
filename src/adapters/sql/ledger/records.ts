import { NO_FAILURES, type RecordedFailure } from "../../../core/failure/group-failures.ts";
import type { Group } from "../../../core/group/group.ts";
import type {
  Absence,
  GraceClock,
  Intent,
  LedgerGroup,
  UnverifiedOutcome,
} from "../../../core/group/ledger-group.ts";
import { type EventOf, type JournalEntry, next } from "../../../core/record/next.ts";
import {
  failingSince,
  type GroupRecord,
  isAtRest,
  type RecordFailures,
} from "../../../core/record/record.ts";
import type { ColumnType, Dialect } from "../dialect/dialect.ts";
import { jsonBatches, type LedgerScope, ofIds, possibleIds } from "./scope.ts";

/**
 * A group's row, as statements write it. `state` has all that no statement selects, sums or sorts by; `at_rest` and
 * `failing_since` follow from it, and are columns for the sake of such statements.
 */
const COLUMNS = {
  bucket: "integer",
  row_digest: "bigint",
  fingerprint: "text",
  confirmed: "text",
  token_fingerprint: "text",
  token_since: "time",
  shared_token: "text",
  verified_at: "time",
  unverified: "text",
  intent: "text",
  intent_at: "time",
  gone: "text",
  gone_since: "time",
  held: "text",
  at_rest: "integer",
  failing_since: "time",
  state: "text",
} as const satisfies Readonly<Record<string, ColumnType>>;

type Column = keyof typeof COLUMNS;
type Row = Readonly<Record<Column, string | number | null>>;

/** What a SELECT of `RECORD_COLUMNS` returns. */
interface RecordRow {
  readonly user_group_id: string;
  readonly bucket: number;
  readonly row_digest: string | null;
  readonly fingerprint: string | null;
  readonly confirmed: string | null;
  readonly token_fingerprint: string | null;
  readonly token_since: Date | null;
  readonly shared_token: string | null;
  readonly verified_at: Date | null;
  readonly unverified: UnverifiedOutcome | null;
  readonly intent: Intent | null;
  readonly intent_at: Date | null;
  readonly gone: Absence["kind"] | null;
  readonly gone_since: Date | null;
  readonly held: GroupRecord["held"];
  readonly state: string;
}

const RECORD_COLUMNS = `user_group_id, bucket, row_digest, fingerprint, confirmed, token_fingerprint, token_since,
  shared_token, verified_at, unverified, intent, intent_at, gone, gone_since, held, state`;

/** JSON: dates are ISO 8601. */
interface State {
  readonly name: string | null;
  readonly dataSourceId: string | null;
  readonly intended: string | null;
  /** The grace clock when the tenant was first seen to be gone. */
  readonly goneAt: GraceClock | null;
  readonly failures: RecordFailures;
  readonly createdAt: string;
  readonly changedAt: string;
}

function rowOf(record: GroupRecord): Row {
  const { absence, createdAt, changedAt } = record;
  const state: State = {
    name: record.serviceName,
    dataSourceId: record.dataSourceId,
    intended: record.intended,
    goneAt: absence?.at ?? null,
    failures: record.failures,
    createdAt: createdAt.toISOString(),
    changedAt: changedAt.toISOString(),
  };
  return {
    bucket: record.bucket,
    row_digest: record.digest,
    fingerprint: record.fingerprint,
    confirmed: record.confirmed && JSON.stringify(record.confirmed),
    token_fingerprint: record.tokenFingerprint,
    token_since: iso(record.tokenSince),
    shared_token: record.sharedToken,
    verified_at: iso(record.verifiedAt),
    unverified: record.unverified,
    intent: record.intent,
    intent_at: iso(record.intentAt),
    gone: absence?.kind ?? null,
    gone_since: iso(absence?.since ?? null),
    held: record.held,
    at_rest: isAtRest(record) ? 1 : 0,
    failing_since: iso(failingSince(record)),
    state: JSON.stringify(state),
  };
}

function recordOf(row: RecordRow): GroupRecord {
  const { name, dataSourceId, intended, goneAt, failures, createdAt, changedAt } = stateOf(row.state);
  return {
    user_group_id: row.user_group_id,
    bucket: row.bucket,
    digest: row.row_digest,
    fingerprint: row.fingerprint,
    confirmed: row.confirmed === null ? null : (JSON.parse(row.confirmed) as Group),
    serviceName: name,
    dataSourceId,
    unverified: row.unverified,
    tokenFingerprint: row.token_fingerprint,
    tokenSince: row.token_since,
    sharedToken: row.shared_token,
    verifiedAt: row.verified_at,
    intent: row.intent,
    intentAt: row.intent_at,
    intended,
    absence: row.gone && row.gone_since && goneAt && { kind: row.gone, since: row.gone_since, at: goneAt },
    held: row.held,
    failures,
    createdAt: new Date(createdAt),
    changedAt: new Date(changedAt),
  };
}

/** Times are made of the failures alone, because a reviver would cost each of many rows as much as its query. */
function stateOf(text: string): State {
  const state = JSON.parse(text) as State;
  const { change, rotation, storing } = state.failures;
  return {
    ...state,
    failures: { change: timed(change), rotation: timed(rotation), storing: timed(storing) },
  };
}

const timed = <F extends RecordedFailure>(failure: F | null): F | null =>
  failure && { ...failure, retryAt: new Date(failure.retryAt), since: new Date(failure.since) };

/** A condition: a plan needn't read the group for the sake of its last update. */
export const HAS_NO_UNVERIFIED_UPDATE = "(unverified IS NULL OR unverified <> 'updated')";

/** The last column is null, and costs nothing, for a group at rest; nearly every group is at rest. */
export const groupColumns = ({
  jsonObject,
}: Dialect): string => `user_group_id, fingerprint, bucket, row_digest,
  CASE WHEN at_rest = 1 AND ${HAS_NO_UNVERIFIED_UPDATE} AND held IS NULL AND failing_since IS NULL THEN NULL
  ELSE ${jsonObject({
    intent: { of: "intent" },
    unverified: { of: "unverified" },
    held: { of: "held" },
    gone: { of: "gone" },
    since: { of: "gone_since", isTime: true },
    state: { of: "state" },
  })} END AS more`;

export type GroupColumns = [
  user_group_id: string,
  fingerprint: string | null,
  bucket: number,
  row_digest: string | null,
  more: string | null,
];

/** The members of the last column's JSON. */
interface More extends Pick<RecordRow, "intent" | "unverified" | "held" | "gone" | "state"> {
  readonly since: string;
}

const AT_REST = { intent: null, isUpdateUnverified: false, absence: null, held: null, failures: NO_FAILURES };

/** Reads a row of `groupColumns`. */
export function ledgerGroup([user_group_id, fingerprint, bucket, digest, text]: GroupColumns): LedgerGroup {
  const row = digest === null ? null : { bucket, digest };
  if (text === null) return { user_group_id, fingerprint, row, ...AT_REST };
  const { intent, unverified, held, gone, since, state } = JSON.parse(text) as More;
  const { goneAt, failures } = stateOf(state);
  return {
    user_group_id,
    fingerprint,
    row,
    intent,
    isUpdateUnverified: unverified === "updated",
    absence: gone && goneAt && { kind: gone, since: new Date(since), at: goneAt },
    held,
    failures,
  };
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;

/** The records of the groups that fulfil the condition, which may be followed by an order and a limit. */
export async function recordsWhere(
  { connection, tables }: LedgerScope,
  condition: string,
  values: readonly unknown[],
): Promise<readonly GroupRecord[]> {
  const rows = await connection.query<RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM ${tables.groups} WHERE ${condition}`,
    values,
  );
  return rows.map(recordOf);
}

/** The records of these groups; unknown ids are left out. */
export async function recordsOf(
  ledger: LedgerScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, GroupRecord>> {
  const records = await recordsWhere(ledger, ofIds(ledger), [ledger.scope, possibleIds(ids)]);
  return new Map(records.map((record) => [record.user_group_id, record]));
}

/**
 * Loads the records of these groups, takes each event in order, and saves what differs. Returns the records from before.
 * The caller's transaction holds the lease: nobody else changes a record meanwhile.
 */
export async function changeRecords(
  ledger: LedgerScope,
  events: readonly EventOf[],
  now: Date,
): Promise<ReadonlyMap<string, GroupRecord>> {
  const before = await recordsOf(ledger, [...new Set(events.map(({ user_group_id }) => user_group_id))]);
  const after = new Map<string, GroupRecord | null>(before);
  const journal: JournalEntry[] = [];
  for (const event of events) {
    const { user_group_id } = event;
    const step = next(after.get(user_group_id) ?? null, event, now);
    after.set(user_group_id, step.record);
    journal.push(...step.journal);
  }
  await save(ledger, before, after);
  await keep(ledger, journal);
  return before;
}

async function save(
  { dialect, connection, tables, scope }: LedgerScope,
  before: ReadonlyMap<string, GroupRecord>,
  after: ReadonlyMap<string, GroupRecord | null>,
): Promise<void> {
  const gone = [...after].flatMap(([id, record]) => (record === null && before.has(id) ? [id] : []));
  if (gone.length > 0) {
    await connection.query(
      `DELETE FROM ${tables.groups} WHERE scope = $1 AND ${dialect.isOneOf("user_group_id", "$2")}`,
      [scope, gone],
    );
  }
  const rows: (Row & { readonly id: string })[] = [];
  const columns = new Set<Column>();
  for (const [id, record] of after) {
    const known = before.get(id);
    if (record === null || record === known) continue;
    const row = rowOf(record);
    const old = known && rowOf(known);
    const changed = ALL.filter((column) => row[column] !== (old?.[column] ?? null));
    for (const column of changed) columns.add(column);
    if (changed.length > 0) rows.push({ id, ...row });
  }
  if (rows.length === 0) return;
  // An UPDATE with a join would do for rows that are there already. But for that, PostgreSQL reads the whole table as long
  // as a new table has no statistics; an upsert finds each row by the primary key.
  const written = ALL.filter((column) => columns.has(column) || NEEDED.has(column));
  const statement = dialect.upsert({
    into: tables.groups,
    columns: ["scope", "user_group_id", ...written],
    from: `SELECT $1, t.* FROM ${dialect.rows("$2", { id: "id", ...Object.fromEntries(written.map((name) => [name, COLUMNS[name]])) })}`,
    key: ["scope", "user_group_id"],
    set: (is) => Object.fromEntries([...columns].map((name) => [name, is(name)])),
  });
  for (const batch of jsonBatches(rows.map((row) => pick(row, ["id", ...written])))) {
    await connection.query(statement, [scope, batch]);
  }
}

const ALL = Object.keys(COLUMNS) as readonly Column[];
/** Columns that may not be null: an upsert has a value for them, even if it changes nothing in them. */
const NEEDED: ReadonlySet<Column> = new Set(["bucket", "at_rest", "state"]);

const pick = <K extends string>(row: Readonly<Record<K, unknown>>, keys: readonly K[]): object =>
  Object.fromEntries(keys.map((key) => [key, row[key]]));

async function keep(
  { dialect, connection, tables, scope }: LedgerScope,
  journal: readonly JournalEntry[],
): Promise<void> {
  const tokens = journal.flatMap((entry) =>
    entry.kind === "former_token"
      ? [{ id: entry.user_group_id, token: entry.tokenFingerprint, since: entry.since, until: entry.until }]
      : [],
  );
  const removals = journal.flatMap((entry) =>
    entry.kind === "former_token" ? [] : [{ id: entry.user_group_id, at: entry.at, kind: entry.kind }],
  );
  if (tokens.length > 0) {
    await connection.query(
      `INSERT INTO ${tables.formerTokens} (scope, user_group_id, token_fingerprint, live_since, live_until)
       SELECT $1, t.* FROM ${dialect.rows("$2", { id: "id", token: "text", since: "time", until: "time" })}`,
      [scope, JSON.stringify(tokens)],
    );
  }
  if (removals.length > 0) {
    await connection.query(
      `INSERT INTO ${tables.removals} (scope, user_group_id, removed_at, kind)
       SELECT $1, t.* FROM ${dialect.rows("$2", { id: "id", at: "time", kind: "text" })}`,
      [scope, JSON.stringify(removals)],
    );
  }
}
