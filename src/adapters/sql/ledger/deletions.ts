import type { MissingGroups } from "../../../core/deletion/missing-tenants.ts";
import type { EventOf } from "../../../core/record/next.ts";
import type { DeletionReads, DeletionWrites } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { changeEach, changeRecords } from "./records.ts";
import { countWhere, type LedgerScope } from "./scope.ts";

export const deletionReads = (reader: LedgerReader): DeletionReads => ({
  removalsSince: (time) =>
    reader.read(0, (ledger) => {
      const removed = "scope = $1 AND removed_at >= $2 AND kind IN ('delete', 'replace')";
      return countWhere(ledger, ledger.tables.removals, removed, [ledger.scope, time]);
    }),

  foundSince: (time) =>
    reader.read({ count: 0, last: null }, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<{ user_group_id: string; at: Date; count: string }>(
        `SELECT user_group_id, removed_at AS "at", count(*) OVER () AS "count" FROM ${tables.removals}
         WHERE scope = $1 AND kind IN ('gone', 'token') AND removed_at >= $2 AND NOT EXISTS (
           SELECT 1 FROM ${tables.scopes} AS s WHERE s.scope = $1 AND s.refresh_approved_at >= removed_at)
         ORDER BY id DESC LIMIT 1`,
        [scope, time],
      );
      if (!row) return { count: 0, last: null };
      return { count: Number(row.count), last: { user_group_id: row.user_group_id, at: row.at } };
    }),

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

export const deletionWrites = (ledger: LedgerScope): DeletionWrites => ({
  /** Writes only what changes: until somebody approves them, the same removals are held run after run. */
  async markHeld(held) {
    const { dialect } = ledger;
    // These events change nothing that has a time.
    const now = new Date(0);
    const release = (condition: string, values: readonly unknown[]): Promise<void> =>
      changeEach(ledger, { kind: "held", removal: null }, now, `held IS NOT NULL AND ${condition}`, values);
    let last = "";
    for await (const batch of held) {
      const end = batch.at(-1)?.user_group_id;
      if (end === undefined) continue;
      const events = batch.map(({ user_group_id, kind }): EventOf => {
        return { kind: "held", user_group_id, removal: kind };
      });
      await changeRecords(ledger, events, now);
      const ids = batch.map(({ user_group_id }) => user_group_id);
      const between = `user_group_id > $3 AND user_group_id < $4 AND NOT (${dialect.isOneOf("user_group_id", "$5")})`;
      await release(between, [last, end, ids]);
      last = end;
    }
    await release("user_group_id > $3", [last]);
  },

  async approveRefresh(now) {
    const { connection, tables, scope } = ledger;
    // Those that a clock which was ahead has found would else count until that time comes.
    await connection.query(
      `UPDATE ${tables.removals} SET removed_at = $2 WHERE scope = $1 AND kind IN ('gone', 'token') AND removed_at > $2`,
      [scope, now],
    );
    // The read of the source has made the row.
    await connection.query(`UPDATE ${tables.scopes} SET refresh_approved_at = $2 WHERE scope = $1`, [
      scope,
      now,
    ]);
  },
});
