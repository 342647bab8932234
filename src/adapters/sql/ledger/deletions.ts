import type { MissingGroups } from "../../../core/deletion/missing-tenants.ts";
import { NO_READ_HISTORY } from "../../../core/plan/read-history.ts";
import type { DatedHistory, DeletionReads, DeletionWrites } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { countWhere, type LedgerScope, setScopeRow, updateGroups } from "./scope.ts";

const KIND_COLUMNS = { id: "id", kind: "text" } as const;

export const deletionReads = (reader: LedgerReader): DeletionReads => ({
  async readHistory() {
    const history = await reader.read(null, async ({ dialect, connection, tables, scope }) => {
      const [row] = await connection.query<HistoryColumns>(
        `SELECT source, source_table AS "table", healthy_ms AS "ms", healthy_reads AS "reads", healthy_at AS "healthyAt",
           held_code AS "heldCode", approvals, ${dialect.now} AS "readAt"
         FROM ${tables.evidence} WHERE scope = $1`,
        [scope],
      );
      if (!row) return null;
      const { ms, reads, ...more } = row;
      return { ...more, clock: { ms: Number(ms), reads: Number(reads) } };
    });
    return history ?? { ...NO_READ_HISTORY, readAt: await reader.now() };
  },

  removalsSince: (time) =>
    reader.read(0, (ledger) =>
      countWhere(ledger, ledger.tables.removals, "scope = $1 AND removed_at >= $2 AND kind <> 'gone'", [
        ledger.scope,
        time,
      ]),
    ),

  missing: () =>
    reader.read([], async ({ connection, tables, scope }) => {
      const rows = await connection.query<Omit<MissingGroups, "groups"> & { readonly groups: string }>(
        `SELECT gone AS "kind", gone_since AS "since", count(*) AS "groups" FROM ${tables.groups}
         WHERE scope = $1 AND gone IS NOT NULL AND held IS NULL
         GROUP BY gone, gone_since ORDER BY gone_since, gone`,
        [scope],
      );
      return rows.map((row) => ({ ...row, groups: Number(row.groups) }));
    }),
});

interface HistoryColumns extends Omit<DatedHistory, "clock"> {
  readonly ms: string;
  readonly reads: string;
}

export const deletionWrites = (ledger: LedgerScope): DeletionWrites => ({
  /** Writes only what changes: until somebody approves them, the same removals are held run after run. */
  async markHeld(held) {
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
  },

  recordReadHistory: ({ source, table, clock, healthyAt, heldCode, approvals }) =>
    setScopeRow(ledger, ledger.tables.evidence, {
      source,
      source_table: table,
      healthy_ms: clock.ms,
      healthy_reads: clock.reads,
      healthy_at: healthyAt,
      held_code: heldCode,
      approvals,
    }),
});
