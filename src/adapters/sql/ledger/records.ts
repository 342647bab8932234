import {
  type GroupFailures,
  NO_FAILURES,
  type RecordedFailure,
} from "../../../core/failure/group-failures.ts";
import type { Group } from "../../../core/group/group.ts";
import type {
  Absence,
  Doubt,
  GraceClock,
  Intent,
  LedgerGroup,
  Owed,
  UnverifiedOutcome,
} from "../../../core/group/ledger-group.ts";
import { lastVerified, nameKeyOf } from "../../../core/record/candidates.ts";
import { type EventOf, type GroupEvent, type JournalEntry, next } from "../../../core/record/next.ts";
import { failingSince, owes, restOf } from "../../../core/record/owes.ts";
import type { GroupRecord } from "../../../core/record/record.ts";
import type { ColumnType } from "../dialect/dialect.ts";
import { jsonBatches, type LedgerScope, ofIds, possibleIds } from "./scope.ts";

const OWED_TOO = ", ";

/** What a value of the column "owes" tells. */
export const owedIn = (text: string | null): readonly Owed[] =>
  text === null ? [] : (text.split(OWED_TOO) as Owed[]);

/** "json" is text. */
interface Column {
  readonly type: ColumnType | "json";
  of(record: GroupRecord): unknown;
}

/**
 * A group's row: what each column has of the record. `state` has all that no statement selects, sums or sorts by;
 * `name_key`, `verified_at`, `owes`, `at_rest` and `failing_since` follow from the record, for the sake of such statements.
 */
const COLUMNS: Readonly<Record<string, Column>> = {
  bucket: { type: "integer", of: (record) => record.bucket },
  row_digest: { type: "bigint", of: (record) => record.digest },
  fingerprint: { type: "text", of: (record) => record.fingerprint },
  confirmed: { type: "json", of: (record) => record.confirmed },
  name_key: { type: "id", of: nameKeyOf },
  token_fingerprint: { type: "text", of: (record) => record.tokenFingerprint },
  token_since: { type: "time", of: (record) => record.tokenSince },
  wanted_since: { type: "time", of: (record) => record.wantedSince },
  wanted_by: { type: "text", of: (record) => record.wantedBy },
  shared_token: { type: "text", of: (record) => record.sharedToken },
  verified_at: { type: "time", of: lastVerified },
  unverified: { type: "text", of: (record) => record.unverified },
  intent: { type: "text", of: (record) => record.intent },
  intent_at: { type: "time", of: (record) => record.intentAt },
  gone: { type: "text", of: (record) => record.absence?.kind ?? null },
  gone_since: { type: "time", of: (record) => record.absence?.since ?? null },
  held: { type: "text", of: (record) => record.held },
  owes: { type: "text", of: (record) => owes(record).join(OWED_TOO) || null },
  at_rest: { type: "integer", of: restOf },
  failing_since: { type: "time", of: failingSince },
  state: { type: "json", of: stateOf },
};

/** What a SELECT of `RECORD_COLUMNS` returns. */
interface RecordRow {
  readonly user_group_id: string;
  readonly bucket: number;
  readonly row_digest: string | null;
  readonly fingerprint: string | null;
  readonly confirmed: string | null;
  readonly token_fingerprint: string | null;
  readonly token_since: Date | null;
  readonly wanted_since: Date | null;
  readonly wanted_by: GroupRecord["wantedBy"];
  readonly shared_token: string | null;
  readonly unverified: UnverifiedOutcome | null;
  readonly intent: Intent | null;
  readonly intent_at: Date | null;
  readonly gone: Absence["kind"] | null;
  readonly gone_since: Date | null;
  readonly held: GroupRecord["held"];
  readonly state: string;
}

const RECORD_COLUMNS = `user_group_id, bucket, row_digest, fingerprint, confirmed, token_fingerprint, token_since,
  wanted_since, wanted_by, shared_token, unverified, intent, intent_at, gone, gone_since, held, state`;

/**
 * JSON: dates are ISO 8601, and what a group doesn't have is left out, because most groups have nearly nothing of it. Times that
 * each group has are in milliseconds since 1970, which takes less time to write and to read.
 */
interface State {
  readonly name: string | undefined;
  readonly dataSourceId: string | undefined;
  readonly intended: string | undefined;
  readonly verifiedAt: number | undefined;
  readonly doubt: Doubt | undefined;
  /** The grace clock when the tenant was first seen to be gone. */
  readonly goneAt: GraceClock | undefined;
  readonly failures: GroupFailures | undefined;
  readonly canaryAt: string | undefined;
  readonly createdAt: number;
  readonly changedAt: number;
}

function stateOf(record: GroupRecord): State {
  return {
    name: record.serviceName ?? undefined,
    dataSourceId: record.dataSourceId ?? undefined,
    intended: record.intended ?? undefined,
    verifiedAt: record.verifiedAt?.getTime(),
    doubt: record.doubt ?? undefined,
    goneAt: record.absence?.at,
    failures: Object.values(record.failures).some(Boolean) ? record.failures : undefined,
    canaryAt: record.canaryAt ?? undefined,
    createdAt: record.createdAt.getTime(),
    changedAt: record.changedAt.getTime(),
  };
}

function recordOf(row: RecordRow): GroupRecord {
  const { goneAt, failures, ...more } = readState(row.state);
  return {
    user_group_id: row.user_group_id,
    bucket: row.bucket,
    digest: row.row_digest,
    fingerprint: row.fingerprint,
    confirmed: row.confirmed === null ? null : (JSON.parse(row.confirmed) as Group),
    unverified: row.unverified,
    tokenFingerprint: row.token_fingerprint,
    tokenSince: row.token_since,
    wantedSince: row.wanted_since,
    wantedBy: row.wanted_by,
    sharedToken: row.shared_token,
    intent: row.intent,
    intentAt: row.intent_at,
    absence:
      row.gone && row.gone_since && goneAt ? { kind: row.gone, since: row.gone_since, at: goneAt } : null,
    held: row.held,
    failures,
    ...more,
  };
}

/** Times are made one by one, because a reviver would cost each of many rows as much as its query. */
function readState(text: string) {
  const state = JSON.parse(text) as State;
  const { change, rotation, storing } = state.failures ?? NO_FAILURES;
  return {
    serviceName: state.name ?? null,
    dataSourceId: state.dataSourceId ?? null,
    intended: state.intended ?? null,
    verifiedAt: state.verifiedAt === undefined ? null : new Date(state.verifiedAt),
    doubt: state.doubt ?? null,
    goneAt: state.goneAt ?? null,
    failures: { change: timed(change), rotation: timed(rotation), storing: timed(storing) },
    canaryAt: state.canaryAt ?? null,
    createdAt: new Date(state.createdAt),
    changedAt: new Date(state.changedAt),
  };
}

const timed = <F extends RecordedFailure>(failure: F | null): F | null =>
  failure && { ...failure, retryAt: new Date(failure.retryAt), since: new Date(failure.since) };

/** The last column is null, and costs nothing, for a group that owes nothing; nearly all owe nothing. */
export const GROUP_COLUMNS = `user_group_id, fingerprint, bucket, row_digest, unverified, intent, held, gone, gone_since,
  CASE WHEN owes IS NOT NULL OR gone IS NOT NULL THEN state END AS state`;

export type GroupColumns = [
  user_group_id: string,
  fingerprint: string | null,
  bucket: number,
  row_digest: string | null,
  unverified: UnverifiedOutcome | null,
  intent: Intent | null,
  held: GroupRecord["held"],
  gone: Absence["kind"] | null,
  gone_since: Date | null,
  state: string | null,
];

export function ledgerGroup(row: GroupColumns): LedgerGroup {
  const [user_group_id, fingerprint, bucket, digest, unverified, intent, held, gone, since, state] = row;
  const group = { user_group_id, bucket, digest, fingerprint, unverified, intent, held };
  if (state === null) return { ...group, absence: null, failures: NO_FAILURES };
  const { goneAt, failures } = readState(state);
  return { ...group, absence: gone && since && goneAt && { kind: gone, since, at: goneAt }, failures };
}

/** The records of the groups that fulfil the condition, which may be followed by an order, a limit and a lock. */
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

/** The records of these groups, in the order of the ids; unknown ids are left out. `lock` follows the order: see `recordsWhere`. */
export async function recordsOf(
  ledger: LedgerScope,
  ids: readonly string[],
  lock = "",
): Promise<ReadonlyMap<string, GroupRecord>> {
  const condition = `${ofIds(ledger)} ORDER BY user_group_id ${lock}`;
  const records = await recordsWhere(ledger, condition, [ledger.scope, possibleIds(ids)]);
  return new Map(records.map((record) => [record.user_group_id, record]));
}

/**
 * Loads the records of these groups, takes each event in order, and saves what differs. Returns the records from before and
 * after. Locks the rows: the lease keeps other processes away, but a full sync may record an absence while a single tenant is
 * served.
 */
export async function changeRecords(
  ledger: LedgerScope,
  events: readonly EventOf[],
  now: Date,
): Promise<{
  readonly before: ReadonlyMap<string, GroupRecord>;
  readonly after: ReadonlyMap<string, GroupRecord | null>;
}> {
  const ids = new Set(events.map(({ user_group_id }) => user_group_id));
  const before = await recordsOf(ledger, [...ids], "FOR UPDATE");
  const after = new Map<string, GroupRecord | null>(before);
  const journal: JournalEntry[] = [];
  for (const event of events) {
    const step = next(after.get(event.user_group_id) ?? null, event, now);
    after.set(event.user_group_id, step.record);
    journal.push(...step.journal);
  }
  await save(ledger, before, after);
  await keep(ledger, journal);
  return { before, after };
}

/** How many groups are changed at once. */
const PAGE = 1_000;

/**
 * Takes the event for each group that fulfils the condition. `values` are those of the condition, from $3 on. `keep` is called
 * with the records from after it.
 */
export async function changeEach(
  ledger: LedgerScope,
  event: GroupEvent,
  now: Date,
  condition: string,
  values: readonly unknown[],
  keep: (records: ReadonlyMap<string, GroupRecord | null>) => void = () => {},
): Promise<void> {
  const { connection, tables, scope } = ledger;
  const text = `SELECT user_group_id FROM ${tables.groups}
    WHERE scope = $1 AND user_group_id > $2 AND ${condition} ORDER BY user_group_id LIMIT ${PAGE}`;
  for (let after = ""; ; ) {
    const page = await connection.query<Pick<RecordRow, "user_group_id">>(text, [scope, after, ...values]);
    const last = page.at(-1);
    if (last === undefined) return;
    const events = page.map((group) => ({ ...event, ...group }));
    keep((await changeRecords(ledger, events, now)).after);
    after = last.user_group_id;
  }
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
  const changed = [...after.values()].flatMap((record) =>
    record && record !== before.get(record.user_group_id) ? [record] : [],
  );
  if (changed.length === 0) return;
  const differs = ({ of }: Column): boolean =>
    changed.some((record) => {
      const known = before.get(record.user_group_id);
      return of(record) !== (known ? of(known) : null);
    });
  const written = Object.entries(COLUMNS).filter(([name, column]) => NEEDED.has(name) || differs(column));
  const names = written.map(([name]) => name);
  const types = written.map(([name, { type }]) => [name, type === "json" ? "text" : type]);
  // An UPDATE with a join would do for rows that are there already. But for that, PostgreSQL reads the whole table as long
  // as a new table has no statistics; an upsert finds each row by the primary key.
  const statement = dialect.upsert({
    into: tables.groups,
    columns: ["scope", "user_group_id", ...names],
    from: `SELECT $1, t.* FROM ${dialect.rows("$2", { id: "id", ...Object.fromEntries(types) })}`,
    key: ["scope", "user_group_id"],
    set: names,
  });
  const textOf = timeTexts();
  const rows = changed.map((record) => {
    const row: Record<string, unknown> = { id: record.user_group_id };
    for (const [name, { type, of }] of written) {
      const value = of(record) ?? undefined;
      row[name] = type === "json" ? JSON.stringify(value) : value instanceof Date ? textOf(value) : value;
    }
    return row;
  });
  for (const batch of jsonBatches(rows)) await connection.query(statement, [scope, batch]);
}

/** Writes each time once. Nearly all times of one write are the same, and writing a time takes longer than all else of a row. */
function timeTexts(): (time: Date) => string {
  const texts = new Map<Date, string>();
  return (time) => {
    const text = texts.get(time) ?? time.toISOString();
    texts.set(time, text);
    return text;
  };
}

/** Columns that may not be null: an upsert has a value for them, even if it changes nothing in them. */
const NEEDED: ReadonlySet<string> = new Set(["bucket", "at_rest", "state"]);

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
