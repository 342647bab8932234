import type { MissingGroups } from "../../../core/deletion/missing-tenants.ts";
import type { HeldRemoval } from "../../../core/deletion/removals.ts";
import type { GraceClock } from "../../../core/group/ledger-group.ts";
import type { LeftUpdate } from "../../../core/plan/ledger-update.ts";
import { NO_READ_HISTORY, type ReadHistory } from "../../../core/plan/read-history.ts";
import type { DatedHistory, DeletionReads, DeletionWrites } from "../../../ports/ledger/groups.ts";
import { type LedgerReader, type LedgerScope, ofIds, updateGroups } from "./scope.ts";

const HISTORY_COLUMNS = [
  "source",
  "source_table",
  "healthy_ms",
  "healthy_reads",
  "healthy_at",
  "held_code",
  "approvals",
];
const KIND_COLUMNS = { id: "id", kind: "text" } as const;

export const NOTHING_MISSING = {
  missing_since: "NULL",
  missing_kind: "NULL",
  missing_ms: "NULL",
  missing_reads: "NULL",
} as const;
const NOT_MISSING = Object.keys(NOTHING_MISSING)
  .map((column) => `${column} = NULL`)
  .join(", ");

export const deletionReads = (reader: LedgerReader): DeletionReads => ({
  readHistory: async () =>
    (await reader.read(null, readHistory)) ?? { ...NO_READ_HISTORY, readAt: await reader.now() },
  removalsSince: (time) => reader.read(0, (ledger) => removalsSince(ledger, time)),
  missing: () => reader.read([], missing),
});

export const deletionWrites = (ledger: LedgerScope): DeletionWrites => ({
  markLeft: (left, clock, now) => markLeft(ledger, left, clock, now),
  markReturned: (ids) => markReturned(ledger, ids),
  markHeld: (held) => markHeld(ledger, held),
  recordReadHistory: (history) => recordReadHistory(ledger, history),
});

async function readHistory({
  dialect,
  connection,
  tables,
  scope,
}: LedgerScope): Promise<DatedHistory | null> {
  const [row] = await connection.query<HistoryColumns>(
    `SELECT source, source_table AS "table", healthy_ms AS "ms", healthy_reads AS "reads", healthy_at AS "healthyAt",
       held_code AS "heldCode", approvals, ${dialect.now} AS "readAt"
     FROM ${tables.evidence} WHERE scope = $1`,
    [scope],
  );
  if (!row) return null;
  const { ms, reads, ...history } = row;
  return { ...history, clock: { ms: Number(ms), reads: Number(reads) } };
}

interface HistoryColumns extends Omit<DatedHistory, "clock"> {
  readonly ms: string;
  readonly reads: string;
}

async function recordReadHistory(
  { dialect, connection, tables, scope }: LedgerScope,
  { source, table, clock, healthyAt, heldCode, approvals }: ReadHistory,
): Promise<void> {
  await connection.query(
    dialect.upsert({
      into: tables.evidence,
      columns: ["scope", ...HISTORY_COLUMNS],
      from: "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
      key: ["scope"],
      set: (is) => Object.fromEntries(HISTORY_COLUMNS.map((column) => [column, is(column)])),
    }),
    [scope, source, table, clock.ms, clock.reads, healthyAt, heldCode, approvals],
  );
}

async function removalsSince({ connection, tables, scope }: LedgerScope, time: Date): Promise<number> {
  const [row] = await connection.query<{ count: string }>(
    `SELECT count(*) AS "count" FROM ${tables.removals} WHERE scope = $1 AND removed_at >= $2 AND kind <> 'gone'`,
    [scope, time],
  );
  return Number(row?.count ?? 0);
}

async function missing({ connection, tables, scope }: LedgerScope): Promise<readonly MissingGroups[]> {
  const rows = await connection.query<Omit<MissingGroups, "groups"> & { readonly groups: string }>(
    `SELECT missing_kind AS "kind", missing_since AS "since", count(*) AS "groups" FROM ${tables.groups}
     WHERE scope = $1 AND missing_since IS NOT NULL AND held IS NULL
     GROUP BY missing_kind, missing_since ORDER BY missing_since, missing_kind`,
    [scope],
  );
  return rows.map((row) => ({ ...row, groups: Number(row.groups) }));
}

function markLeft(
  ledger: LedgerScope,
  left: readonly LeftUpdate[],
  clock: GraceClock,
  now: Date,
): Promise<void> {
  const rows = left.map((update) => ({ id: update.user_group_id, kind: update.absence }));
  return updateGroups(
    ledger,
    rows,
    KIND_COLUMNS,
    {
      // First: MySQL assigns in this order, and the kind of before decides.
      missing_since: "CASE WHEN g.missing_kind = t.kind THEN g.missing_since ELSE $4 END",
      missing_kind: "t.kind",
      missing_ms: "$5",
      missing_reads: "$6",
    },
    [now, clock.ms, clock.reads],
  );
}

async function markReturned(ledger: LedgerScope, ids: readonly string[]): Promise<void> {
  await ledger.connection.query(
    `UPDATE ${ledger.tables.groups} SET ${NOT_MISSING}, held = nullif(held, 'delete') WHERE ${ofIds(ledger)}`,
    [ledger.scope, ids],
  );
}

/** Writes only what changes: until somebody approves them, the same removals are held run after run. */
async function markHeld(ledger: LedgerScope, held: AsyncIterable<readonly HeldRemoval[]>): Promise<void> {
  const { dialect, connection, tables, scope } = ledger;
  let last = "";
  for await (const batch of held) {
    const end = batch.at(-1)?.user_group_id;
    if (end === undefined) continue;
    const rows = batch.map(({ user_group_id, kind }) => ({ id: user_group_id, kind }));
    const differs = dialect.differ("g.held", "t.kind");
    await updateGroups(ledger, rows, KIND_COLUMNS, { held: "t.kind" }, [], differs);
    await connection.query(
      `UPDATE ${tables.groups} SET held = NULL
       WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2 AND user_group_id < $3
         AND NOT (${dialect.isOneOf("user_group_id", "$4")})`,
      [scope, last, end, batch.map(({ user_group_id }) => user_group_id)],
    );
    last = end;
  }
  await connection.query(
    `UPDATE ${tables.groups} SET held = NULL
     WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2`,
    [scope, last],
  );
}
