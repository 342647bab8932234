import type { EventOf } from "../../../core/record/next.ts";
import type {
  DeletionReads,
  DeletionWrites,
  FormerToken,
  GroupJournal,
  RecordedRemoval,
} from "../../../ports/ledger/groups.ts";
import { storable } from "../connection/storable.ts";
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
