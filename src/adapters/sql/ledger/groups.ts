import type { MissingGroups } from "../../../core/deletion/missing-tenants.ts";
import { MOST_REMEMBERED } from "../../../core/record/recent-writes.ts";
import type { GroupRecord } from "../../../core/record/record.ts";
import type {
  GroupCounts,
  GroupReads,
  GroupSums,
  GroupWrites,
  SharedGroups,
} from "../../../ports/ledger/groups.ts";
import { databaseError } from "../connection/failures.ts";
import { candidateReads, conditionOf } from "./candidates.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import {
  changeEach,
  changeRecords,
  type GroupColumns,
  groupColumns,
  ledgerGroup,
  recordsOf,
} from "./records.ts";
import type { LedgerScope } from "./scope.ts";

const BATCH = 5_000;

export const groupReads = (reader: LedgerReader): GroupReads => ({
  ...candidateReads(reader),
  ...groupSums(reader),

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

  async *groups(buckets) {
    const ledger = await reader.read(undefined, async (found) => found);
    if (!ledger) return;
    const { dialect, tables, scope } = ledger;
    const text = `
      SELECT ${groupColumns(dialect)} FROM ${tables.groups}
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
      const condition = list ? conditionOf(list, ledger, parameter) : "TRUE";
      await changeEach(ledger, event, now, condition, values, keep);
    },
  };
}

/** The sums of an empty ledger. */
export const NO_SUMS: GroupSums = {
  counts: {
    total: 0,
    in_sync: 0,
    under_way: 0,
    failing: 0,
    in_doubt: 0,
    wanted: 0,
    missing: 0,
    unverified: 0,
  },
  missing: [],
  oldestToken: null,
  oldestUnsynced: null,
};

const IS_UNDER_WAY = "(owes LIKE '%under way%' OR owes LIKE '%leftover%')";

const groupSums = (reader: LedgerReader): Pick<GroupReads, "sums"> => ({
  sums: () =>
    reader.read(NO_SUMS, async (ledger) => {
      const { connection, tables, scope } = ledger;
      const [row] = await connection.query<SumColumns>(
        `SELECT count(CASE WHEN gone IS NULL OR gone <> 'canary' THEN 1 END) AS total,
           count(CASE WHEN owes IS NULL AND gone IS NULL THEN 1 END) AS in_sync,
           count(CASE WHEN ${IS_UNDER_WAY} THEN 1 END) AS under_way,
           count(failing_since) AS failing,
           count(CASE WHEN owes LIKE '%doubted%' THEN 1 END) AS in_doubt,
           count(wanted_since) AS wanted,
           count(CASE WHEN gone <> 'canary' THEN 1 END) AS missing,
           count(unverified) AS unverified,
           min(token_since) AS "oldestToken",
           min(CASE WHEN ${IS_UNDER_WAY} THEN intent_at END) AS "underWaySince",
           min(failing_since) AS "failingSince"
         FROM ${tables.groups} WHERE scope = $1`,
        [scope],
      );
      if (!row) return NO_SUMS;
      const { oldestToken, underWaySince, failingSince, ...counts } = row;
      const isFailing = failingSince && !(underWaySince && underWaySince < failingSince);
      return {
        counts: {
          total: Number(counts.total),
          in_sync: Number(counts.in_sync),
          under_way: Number(counts.under_way),
          failing: Number(counts.failing),
          in_doubt: Number(counts.in_doubt),
          wanted: Number(counts.wanted),
          missing: Number(counts.missing),
          unverified: Number(counts.unverified),
        },
        missing: await missingGroups(ledger),
        oldestToken,
        oldestUnsynced: isFailing ? failingSince : underWaySince,
      };
    }),
});

interface SumColumns extends Readonly<Record<keyof GroupCounts, string>> {
  readonly oldestToken: Date | null;
  readonly underWaySince: Date | null;
  readonly failingSince: Date | null;
}

async function missingGroups({ connection, tables, scope }: LedgerScope): Promise<MissingGroups[]> {
  const rows = await connection.query<Omit<MissingGroups, "groups"> & { readonly groups: string }>(
    `SELECT gone AS "kind", gone_since AS "since", count(*) AS "groups" FROM ${tables.groups}
     WHERE scope = $1 AND gone <> 'canary' AND held IS NULL
     GROUP BY gone, gone_since ORDER BY gone_since, gone`,
    [scope],
  );
  return rows.map((row) => ({ ...row, groups: Number(row.groups) }));
}
