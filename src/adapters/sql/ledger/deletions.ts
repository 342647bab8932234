import type { MissingGroups } from "../../../core/deletion/missing-tenants.ts";
import { NO_READ_HISTORY } from "../../../core/plan/read-history.ts";
import type { DatedHistory, DeletionReads, DeletionWrites } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { countWhere, type LedgerScope, setScopeRow } from "./scope.ts";

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
      // For no rows, MariaDB would read and lock the whole table.
      if (end === undefined) continue;
      const ids = batch.map(({ user_group_id }) => user_group_id);
      const rows = batch.map(({ user_group_id, kind }) => ({ id: user_group_id, kind }));
      // The ids are there twice: for the join alone, PostgreSQL would read the whole table as long as a new table has no
      // statistics.
      const named = `g.scope = $1 AND ${dialect.isOneOf("g.user_group_id", "$2")} AND g.user_group_id = t.id`;
      await connection.query(
        dialect.updateFrom({
          table: tables.groups,
          from: dialect.rows("$3", { id: "id", kind: "text" }),
          set: { held: "t.kind" },
          where: `${named} AND ${dialect.differ("g.held", "t.kind")}`,
        }),
        [scope, ids, JSON.stringify(rows)],
      );
      await connection.query(
        `UPDATE ${tables.groups} SET held = NULL
         WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2 AND user_group_id < $3
           AND NOT (${dialect.isOneOf("user_group_id", "$4")})`,
        [scope, last, end, ids],
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
