import type { Rejection, RememberedRejection } from "../../../core/group/rejections.ts";
import type { RejectionCode } from "../../../core/group/tenant.ts";
import { type Counts, noCounts, type RunOutcome } from "../../../core/report/counts.ts";
import type {
  RecordedRun,
  RejectionReads,
  RejectionWrites,
  RunId,
  RunReads,
  RunResult,
  RunWrites,
} from "../../../ports/ledger/scope.ts";
import { storable } from "../connection/storable.ts";
import { jsonBatches, type LedgerReader, type LedgerScope } from "./scope.ts";

/** The newest runs are kept, however old they are: if nothing has run for long, they tell what happened last. */
const LEAST_RUNS = 10;

/** In days. No limit looks back so far, but removals are also the record of what was deleted when. */
const KEPT_REMOVALS = 90;
/** In days. After an incident somebody asks which token was live when, and an incident may be noticed late. */
const KEPT_TOKENS = 365;

export const runReads = (reader: LedgerReader): RunReads => ({
  history: (since, limit, command) =>
    reader.read([], (ledger) =>
      command === undefined
        ? recordedRuns(ledger, "started_at >= $3", limit, [since])
        : recordedRuns(ledger, "started_at >= $3 AND command = $4", limit, [since, command]),
    ),
});

/** `historyMs`: how long the history of the runs is kept. */
export const runWrites = (ledger: LedgerScope, historyMs: number): RunWrites => ({
  startRun: (command, now) => startRun(ledger, command, now),
  finishRun: async (run, result, now) => {
    await finishRun(ledger, run, result, now);
    await forgetOld(ledger, now, historyMs);
  },
  discardRun: (run) => discardRun(ledger, run),
});

export const latestRuns = (ledger: LedgerScope, limit: number): Promise<RecordedRun[]> =>
  recordedRuns(ledger, "TRUE", limit);

/** `more` are the values of `condition`, from $3 on. */
async function recordedRuns(
  { connection, tables, scope }: LedgerScope,
  condition: string,
  limit: number,
  more: readonly unknown[] = [],
): Promise<RecordedRun[]> {
  const rows = await connection.query<RunColumns>(
    `SELECT * FROM ${tables.runs} WHERE scope = $1 AND ${condition} ORDER BY id DESC LIMIT $2`,
    [scope, limit, ...more],
  );
  return rows.map((row) => ({
    id: row.id,
    command: row.command,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    result: row.outcome && {
      outcome: row.outcome,
      // An older groupsync had fewer counts.
      counts: { ...noCounts(), ...(JSON.parse(row.counts) as Partial<Counts>) },
      requests: Number(row.requests),
      error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
    },
  }));
}

interface RunColumns {
  readonly id: string;
  readonly command: string;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly outcome: RunOutcome | null;
  readonly counts: string;
  readonly requests: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

async function startRun(
  { connection, tables, scope }: LedgerScope,
  command: string,
  now: Date,
): Promise<RunId> {
  const { runs } = tables;
  await connection.query(`INSERT INTO ${runs} (scope, command, started_at) VALUES ($1, $2, $3)`, [
    scope,
    command,
    now,
  ]);
  // The newest run is this one: nobody else starts a run while the lease is held.
  const [started] = await connection.query<{ id: string }>(
    `SELECT max(id) AS id FROM ${runs} WHERE scope = $1`,
    [scope],
  );
  return started?.id ?? "";
}

async function finishRun(
  { connection, tables }: LedgerScope,
  run: RunId,
  { outcome, counts, requests, error }: RunResult,
  now: Date,
): Promise<void> {
  const message = error === null ? null : storable(error.message);
  await connection.query(
    `UPDATE ${tables.runs}
       SET finished_at = $2, outcome = $3, counts = $4, requests = $5, error_code = $6, error_message = $7
       WHERE id = $1`,
    [run, now, outcome, JSON.stringify(counts), requests, error?.code ?? null, message],
  );
}

/** Deletes what is too old, such as runs that began more than `historyMs` ago, but never the newest runs. */
async function forgetOld(
  { connection, tables, scope }: LedgerScope,
  now: Date,
  historyMs: number,
): Promise<void> {
  const { runs, removals, formerTokens } = tables;
  const [oldestOfLast] = await connection.query<{ id: string }>(
    `SELECT id FROM ${runs} WHERE scope = $1 ORDER BY id DESC LIMIT 1 OFFSET ${LEAST_RUNS - 1}`,
    [scope],
  );
  if (oldestOfLast) {
    await connection.query(`DELETE FROM ${runs} WHERE scope = $1 AND started_at < $2 AND id < $3`, [
      scope,
      new Date(now.getTime() - historyMs),
      oldestOfLast.id,
    ]);
  }
  await connection.query(`DELETE FROM ${removals} WHERE scope = $1 AND removed_at < $2`, [
    scope,
    daysBefore(now, KEPT_REMOVALS),
  ]);
  await connection.query(`DELETE FROM ${formerTokens} WHERE scope = $1 AND live_until < $2`, [
    scope,
    daysBefore(now, KEPT_TOKENS),
  ]);
}

async function discardRun({ connection, tables }: LedgerScope, run: RunId): Promise<void> {
  await connection.query(`DELETE FROM ${tables.runs} WHERE id = $1`, [run]);
}

const daysBefore = (time: Date, days: number): Date => new Date(time.getTime() - days * 86_400_000);

/** The rows that the runs could not use. */
export const rejectionReads = (reader: LedgerReader): RejectionReads => ({
  rejections: (ids) => reader.read([], (ledger) => rejections(ledger, ids)),
});

export const rejectionWrites = (ledger: LedgerScope): RejectionWrites => ({
  recordRejections: async (changed, gone, now) => {
    await forgetRejections(ledger, gone);
    await rememberRejections(ledger, changed, now);
  },
});

/** In place of the id of rows that are only counted. No row has this id. */
const NO_ID = "";

interface RejectionColumns {
  readonly user_group_id: string;
  readonly bucket: number;
  readonly code: RejectionCode;
  readonly message: string;
  readonly row_count: string | number;
  readonly since: Date;
}

export async function rejections(
  { dialect, connection, tables, scope }: LedgerScope,
  ids?: readonly string[],
): Promise<readonly RememberedRejection[]> {
  const rows = await connection.query<RejectionColumns>(
    `SELECT user_group_id, bucket, code, message, row_count, since FROM ${tables.rejections}
     WHERE scope = $1 ${ids ? `AND ${dialect.isOneOf("user_group_id", "$2")}` : ""}
     ORDER BY user_group_id, code`,
    // The ledger has no other ids, and PostgreSQL would refuse them.
    ids ? [scope, ids.filter((id) => id !== NO_ID && storable(id) === id)] : [scope],
  );
  return rows.map(({ user_group_id: id, bucket, code, message, row_count, since }) => {
    return { user_group_id: id === NO_ID ? null : id, bucket, code, message, rows: Number(row_count), since };
  });
}

async function forgetRejections(
  { dialect, connection, tables, scope }: LedgerScope,
  gone: readonly Pick<Rejection, "user_group_id" | "code">[],
): Promise<void> {
  for (const batch of jsonBatches(
    gone.map(({ user_group_id, code }) => ({ id: user_group_id ?? NO_ID, code })),
  )) {
    await connection.query(
      `DELETE FROM ${tables.rejections} WHERE scope = $1
       AND (user_group_id, code) IN (SELECT t.id, t.code FROM ${dialect.rows("$2", { id: "id", code: "text" })})`,
      [scope, batch],
    );
  }
}

async function rememberRejections(
  { dialect, connection, tables, scope }: LedgerScope,
  changed: readonly Rejection[],
  now: Date,
): Promise<void> {
  const columns = {
    id: "id",
    code: "text",
    bucket: "integer",
    message: "text",
    row_count: "bigint",
  } as const;
  const rows = changed.map(({ user_group_id, code, bucket, message, rows: row_count }) => {
    return { id: user_group_id ?? NO_ID, code, bucket, message, row_count };
  });
  for (const batch of jsonBatches(rows)) {
    await connection.query(
      dialect.upsert({
        into: tables.rejections,
        columns: ["scope", "user_group_id", "code", "bucket", "message", "row_count", "since"],
        from: `SELECT $1, t.id, t.code, t.bucket, t.message, t.row_count, $3 FROM ${dialect.rows("$2", columns)}`,
        key: ["scope", "user_group_id", "code"],
        set: (is) => ({ bucket: is("bucket"), message: is("message"), row_count: is("row_count") }),
      }),
      [scope, batch, now],
    );
  }
}
