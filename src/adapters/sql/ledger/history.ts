import { type Counts, noCounts, type RunOutcome } from "../../../core/report/counts.ts";
import type {
  FormerToken,
  GroupJournal,
  JournalReads,
  JournalSum,
  RecordedRemoval,
} from "../../../ports/ledger/groups.ts";
import type { RunReads, RunSelection, RunWrites } from "../../../ports/ledger/scope.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { type LedgerScope, storable } from "./scope.ts";

/** The newest runs are kept, however old they are: if nothing has run for long, they tell what happened last. */
const LEAST_RUNS = 10;

const DAY_MS = 86_400_000;
/** No limit looks back so far, but removals are also the record of what was deleted when. */
const KEPT_REMOVALS_MS = 90 * DAY_MS;
/** After an incident somebody asks which token was live when, and an incident may be noticed late. */
const KEPT_TOKENS_MS = 365 * DAY_MS;

export const runReads = (reader: LedgerReader): RunReads => ({
  history: (since, limit, which) =>
    reader.read([], async ({ dialect, connection, tables, scope }) => {
      const [condition, value] = conditionOf(which, dialect);
      const rows = await connection.query<RunColumns>(
        `SELECT * FROM ${tables.runs} WHERE scope = $1 AND started_at >= $2 ${condition} ORDER BY id DESC LIMIT $3`,
        [scope, since, limit, ...(value === undefined ? [] : [value])],
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
    }),
});

function conditionOf(
  which: RunSelection | undefined,
  dialect: Dialect,
): readonly [condition: string, value?: unknown] {
  if (which === undefined) return [""];
  if ("command" in which) return ["AND command = $4", which.command];
  return [`AND outcome = 'failed' AND ${dialect.isOneOf("error_code", "$4")}`, which.failedWith];
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

/** `historyMs`: how long the history of the runs is kept. */
export const runWrites = (ledger: LedgerScope, historyMs: number): RunWrites => {
  const { connection, tables, scope } = ledger;
  return {
    async startRun(command, now) {
      await connection.query(`INSERT INTO ${tables.runs} (scope, command, started_at) VALUES ($1, $2, $3)`, [
        scope,
        command,
        now,
      ]);
      // The newest run is this one: nobody else starts a run while the lease is held.
      const [started] = await connection.query<{ id: string }>(
        `SELECT max(id) AS id FROM ${tables.runs} WHERE scope = $1`,
        [scope],
      );
      return started?.id ?? "";
    },

    async finishRun(run, result, now) {
      if (result === null) await connection.query(`DELETE FROM ${tables.runs} WHERE id = $1`, [run]);
      else {
        const { outcome, counts, requests, error } = result;
        const message = error === null ? null : storable(error.message);
        await connection.query(
          `UPDATE ${tables.runs}
           SET finished_at = $2, outcome = $3, counts = $4, requests = $5, error_code = $6, error_message = $7
           WHERE id = $1`,
          [run, now, outcome, JSON.stringify(counts), requests, error?.code ?? null, message],
        );
      }
      await forgetOld(ledger, now, historyMs);
    },
  };
};

/** Deletes what is too old, such as runs that began more than `historyMs` ago, but never the newest runs. */
async function forgetOld(
  { connection, tables, scope }: LedgerScope,
  now: Date,
  historyMs: number,
): Promise<void> {
  const { runs, removals, formerTokens } = tables;
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  const [oldestOfLast] = await connection.query<{ id: string }>(
    `SELECT id FROM ${runs} WHERE scope = $1 ORDER BY id DESC LIMIT 1 OFFSET ${LEAST_RUNS - 1}`,
    [scope],
  );
  if (oldestOfLast) {
    await connection.query(`DELETE FROM ${runs} WHERE scope = $1 AND started_at < $2 AND id < $3`, [
      scope,
      before(historyMs),
      oldestOfLast.id,
    ]);
  }
  await connection.query(`DELETE FROM ${removals} WHERE scope = $1 AND removed_at < $2`, [
    scope,
    before(KEPT_REMOVALS_MS),
  ]);
  await connection.query(`DELETE FROM ${formerTokens} WHERE scope = $1 AND live_until < $2`, [
    scope,
    before(KEPT_TOKENS_MS),
  ]);
}

export const journalReads = (reader: LedgerReader): JournalReads => ({
  journalSum: (kinds, since, after = null) =>
    reader.read<JournalSum>({ count: 0, last: null }, async ({ dialect, connection, tables, scope }) => {
      const [row] = await connection.query<NonNullable<JournalSum["last"]> & { readonly count: string }>(
        `SELECT id, user_group_id, removed_at AS "at", count(*) OVER () AS "count" FROM ${tables.removals}
         WHERE scope = $1 AND removed_at >= $2 AND ${dialect.isOneOf("kind", "$3")} AND id > $4
         ORDER BY id DESC LIMIT 1`,
        [scope, since, kinds, after ?? 0],
      );
      if (!row) return { count: 0, last: null };
      const { count, ...last } = row;
      return { count: Number(count), last };
    }),

  journalOf: (id) =>
    reader.read(NO_JOURNAL, async ({ connection, tables, scope }) => {
      // The ledger has no such id, and PostgreSQL would refuse it.
      if (storable(id) !== id) return NO_JOURNAL;
      const removals = await connection.query<RecordedRemoval>(
        `SELECT kind, removed_at AS "at" FROM ${tables.removals}
         WHERE scope = $1 AND user_group_id = $2 AND kind <> 'token' ORDER BY id DESC LIMIT ${MOST_OF_ONE}`,
        [scope, id],
      );
      const formerTokens = await connection.query<FormerToken>(
        `SELECT token_fingerprint AS "fingerprint", live_since AS "since", live_until AS "until"
         FROM ${tables.formerTokens} WHERE scope = $1 AND user_group_id = $2 ORDER BY id DESC LIMIT ${MOST_OF_ONE}`,
        [scope, id],
      );
      return { removals, formerTokens };
    }),
});

const NO_JOURNAL: GroupJournal = { removals: [], formerTokens: [] };
const MOST_OF_ONE = 100;
