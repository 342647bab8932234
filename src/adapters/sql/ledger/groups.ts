import type { AbsenceKind } from "../../../core/group/ledger-group.ts";
import { type AlikeGroups, groupSums } from "../../../core/record/group-sums.ts";
import { MOST_REMEMBERED } from "../../../core/record/recent-writes.ts";
import type { GroupRecord } from "../../../core/record/record.ts";
import type { GroupReads, GroupWrites, SharedGroups } from "../../../ports/ledger/groups.ts";
import { databaseError } from "../connection/failures.ts";
import { candidateReads, conditionOf } from "./candidates.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import {
  changeEach,
  changeRecords,
  GROUP_COLUMNS,
  type GroupColumns,
  ledgerGroup,
  owedIn,
  recordsOf,
} from "./records.ts";
import type { LedgerScope } from "./scope.ts";

const BATCH = 5_000;

export const groupReads = (reader: LedgerReader): GroupReads => ({
  ...candidateReads(reader),

  buckets: ({ unverifiedAtRest }) =>
    reader.read([], async ({ connection, tables, scope }) => {
      const rows = await connection.query<BucketColumns>(
        `SELECT bucket, count(CASE WHEN is_clean THEN 1 END) AS "rows",
           coalesce(sum(CASE WHEN is_clean THEN row_digest END), 0) AS "sum",
           count(CASE WHEN NOT is_clean THEN 1 END) AS "dirty", count(owes) AS "owing"
         FROM (
           SELECT bucket, row_digest, owes, at_rest IN (1, $2) AS is_clean
           FROM ${tables.groups} WHERE scope = $1
           UNION ALL SELECT bucket, NULL, NULL, FALSE FROM ${tables.rejections} WHERE scope = $1) AS g
         GROUP BY bucket`,
        [scope, unverifiedAtRest ? 2 : 1],
      );
      return rows.map(({ bucket, rows, sum, dirty, owing }) => {
        return { bucket, rows: Number(rows), sum, dirty: Number(dirty), owing: Number(owing) };
      });
    }),

  sums: (list) =>
    reader.read(groupSums([]), async (ledger) => {
      const values: unknown[] = [ledger.scope];
      const condition = conditionOf(list, ledger, (value) => `$${values.push(value)}`);
      const rows = await ledger.connection.query<SumColumns>(
        `SELECT owes, gone, gone_since AS "goneSince", count(*) AS "groups", count(unverified) AS "unverified",
           min(token_since) AS "tokenSince", min(intent_at) AS "intentAt", min(failing_since) AS "failingSince"
         FROM ${ledger.tables.groups} WHERE ${condition} GROUP BY owes, gone, gone_since`,
        values,
      );
      return groupSums(
        rows.map(({ owes, gone, goneSince, groups, unverified, ...times }) => ({
          groups: Number(groups),
          owed: owedIn(owes),
          absence: gone && goneSince && { kind: gone, since: goneSince },
          unverified: Number(unverified),
          ...times,
        })),
      );
    }),

  async *groups(buckets) {
    const ledger = await reader.read(undefined, async (found) => found);
    if (!ledger) return;
    const { dialect, tables, scope } = ledger;
    const text = `
      SELECT ${GROUP_COLUMNS} FROM ${tables.groups}
      WHERE scope = $1 ${buckets ? `AND ${dialect.isOneOf("bucket", "$2")}` : ""}
      ORDER BY user_group_id`;
    const values = buckets ? [scope, buckets] : [scope];
    try {
      const batches = reader.database.stream<GroupColumns>(dialect.begin.snapshot, text, values, BATCH);
      for await (const rows of batches) yield rows.map(ledgerGroup);
    } catch (error) {
      throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  },

  records: (ids) => reader.read(new Map(), (ledger) => recordsOf(ledger, ids)),

  sharedGroups: ({ baseUrl, teamId }) =>
    reader.read([], async ({ connection, tables, scope }) => {
      const isSameTeam = teamId === null ? "" : "AND s.team_id = $3";
      const rows = await connection.query<Omit<SharedGroups, "count"> & { readonly count: string }>(
        `SELECT o.scope, count(*) AS "count", min(o.user_group_id) AS "first"
         FROM ${tables.scopes} AS s
           JOIN ${tables.groups} AS o ON o.scope = s.scope
           JOIN ${tables.groups} AS g ON g.scope = $1 AND g.user_group_id = o.user_group_id
         WHERE s.scope <> $1 AND s.base_url = $2 ${isSameTeam} AND (o.fingerprint IS NOT NULL OR o.intent IS NOT NULL)
         GROUP BY o.scope ORDER BY o.scope`,
        [scope, baseUrl, ...(teamId === null ? [] : [teamId])],
      );
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    }),

  sharedTokens: (tokens, of) =>
    reader.read(new Set<string>(), async ({ dialect, connection, tables, scope }) => {
      // A UNION and no OR, so that each column is found by its own index.
      const having = (table: string, column: string): string =>
        `SELECT user_group_id AS "id", ${column} AS "token" FROM ${dialect.rowsByIndex(table, column)}`;
      const rows = await connection.query<{ id: string; token: string }>(
        [
          having(tables.groups, "token_fingerprint"),
          having(tables.formerTokens, "token_fingerprint"),
          ...(of === "all" ? [having(tables.groups, "shared_token")] : []),
        ].join(" UNION ALL "),
        [scope, [...tokens.values()]],
      );
      const shared = [...tokens].filter(([id, token]) =>
        rows.some((row) => row.token === token && row.id !== id),
      );
      return new Set(shared.map(([id]) => id));
    }),
});

interface SumColumns extends Pick<AlikeGroups, "tokenSince" | "intentAt" | "failingSince"> {
  readonly owes: string | null;
  readonly gone: AbsenceKind | null;
  readonly goneSince: Date | null;
  readonly groups: string;
  readonly unverified: string;
}

interface BucketColumns {
  readonly bucket: number;
  readonly rows: string;
  readonly sum: string;
  readonly dirty: string;
  readonly owing: string;
}

/** `saved` takes the records that are written, as many as are remembered. */
export function groupWrites(ledger: LedgerScope, saved: Map<string, GroupRecord | null>): GroupWrites {
  const keep = (records: ReadonlyMap<string, GroupRecord | null>): void => {
    for (const [id, record] of records) if (saved.size < MOST_REMEMBERED) saved.set(id, record);
  };
  return {
    async change(events, now) {
      const { before, after } = await changeRecords(ledger, events, now);
      keep(after);
      return before;
    },

    async changeAll(event, now, list) {
      const values: unknown[] = [];
      // They come after those of the scope and of the last id.
      const parameter = (value: unknown): string => `$${values.push(value) + 2}`;
      await changeEach(ledger, event, now, conditionOf(list, ledger, parameter), values, keep);
    },
  };
}
