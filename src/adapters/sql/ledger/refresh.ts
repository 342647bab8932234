import type { RefreshReads, RefreshWrites } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import type { LedgerScope } from "./scope.ts";

export const refreshReads = (reader: LedgerReader): RefreshReads => ({
  goneSince: (time) =>
    reader.read({ count: 0, last: null }, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<{ user_group_id: string; at: Date; count: string }>(
        `SELECT user_group_id, removed_at AS "at", count(*) OVER () AS "count" FROM ${tables.removals}
         WHERE scope = $1 AND kind = 'gone' AND removed_at >= $2 AND NOT EXISTS (
           SELECT 1 FROM ${tables.evidence} AS e WHERE e.scope = $1 AND e.refresh_approved_at >= removed_at)
         ORDER BY id DESC LIMIT 1`,
        [scope, time],
      );
      if (!row) return { count: 0, last: null };
      return { count: Number(row.count), last: { user_group_id: row.user_group_id, at: row.at } };
    }),
});

export const refreshWrites = ({ connection, tables, scope }: LedgerScope): RefreshWrites => ({
  async approveRefresh(now) {
    // Those that a clock which was ahead has found would else count until that time comes.
    await connection.query(
      `UPDATE ${tables.removals} SET removed_at = $2 WHERE scope = $1 AND kind = 'gone' AND removed_at > $2`,
      [scope, now],
    );
    // The read of the source has made the row.
    await connection.query(`UPDATE ${tables.evidence} SET refresh_approved_at = $2 WHERE scope = $1`, [
      scope,
      now,
    ]);
  },
});
