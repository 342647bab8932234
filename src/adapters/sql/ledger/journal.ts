import type {
  FormerToken,
  GroupJournal,
  JournalReads,
  JournalSum,
  RecordedRemoval,
} from "../../../ports/ledger/groups.ts";
import { storable } from "../connection/storable.ts";
import type { LedgerReader } from "./ledger-reader.ts";

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
