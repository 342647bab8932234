import { plannedFrom } from "../../../core/record/candidates.ts";
import type { GroupRecord } from "../../../core/record/record.ts";
import type { ExistingOptions, GroupReads, GroupWrites, SharedGroups } from "../../../ports/ledger/groups.ts";
import { databaseError } from "../connection/failures.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import {
  changeEach,
  changeRecords,
  type GroupColumns,
  groupColumns,
  HAS_NO_UNVERIFIED_UPDATE,
  ledgerGroup,
  recordsOf,
  recordsWhere,
} from "./records.ts";
import { countWhere, type LedgerScope, ofIds, possibleIds } from "./scope.ts";

const BATCH = 5_000;

export const groupReads = (reader: LedgerReader): GroupReads => ({
  buckets: ({ unverifiedAtRest }) =>
    reader.read([], async ({ connection, tables, scope }) => {
      const rows = await connection.query<BucketColumns>(
        `SELECT bucket, count(CASE WHEN is_clean THEN 1 END) AS "rows",
           coalesce(sum(CASE WHEN is_clean THEN row_digest END), 0) AS "sum",
           count(CASE WHEN NOT is_clean THEN 1 END) AS "dirty", count(owes) AS "owing"
         FROM (
           SELECT bucket, row_digest, owes, at_rest = 1 AND (${HAS_NO_UNVERIFIED_UPDATE} OR $2) AS is_clean
           FROM ${tables.groups} WHERE scope = $1
           UNION ALL SELECT bucket, NULL, NULL, FALSE FROM ${tables.rejections} WHERE scope = $1) AS g
         GROUP BY bucket`,
        [scope, unverifiedAtRest],
      );
      return rows.map(({ bucket, rows, sum, dirty, owing }) => {
        return { bucket, rows: Number(rows), sum, dirty: Number(dirty), owing: Number(owing) };
      });
    }),

  async *groups(which) {
    const ledger = await reader.read(undefined, async (found) => found);
    if (!ledger) return;
    const { dialect, tables, scope } = ledger;
    const text = `
      SELECT ${groupColumns(dialect)} FROM ${tables.groups}
      WHERE scope = $1 ${which === "owing" ? "AND owes IS NOT NULL" : which ? `AND ${dialect.isOneOf("bucket", "$2")}` : ""}
      ORDER BY user_group_id`;
    const values = typeof which === "object" ? [scope, which] : [scope];
    try {
      const batches = reader.database.stream<GroupColumns>(dialect.begin.snapshot, text, values, BATCH);
      for await (const rows of batches) yield rows.map(ledgerGroup);
    } catch (error) {
      throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  },

  of: (ids) =>
    reader.read([], async (ledger) => {
      const condition = `${ofIds(ledger)} ORDER BY user_group_id`;
      return (await recordsWhere(ledger, condition, [ledger.scope, possibleIds(ids)])).map(plannedFrom);
    }),

  confirmed: (ids) =>
    reader.read(new Map(), async (ledger) => {
      const records = [...(await recordsOf(ledger, ids))];
      return new Map(records.flatMap(([id, { confirmed }]) => (confirmed ? [[id, confirmed]] : [])));
    }),

  existing: ({ limit, after, ...which }) =>
    reader.read([], async ({ dialect, connection, tables, scope }) => {
      const values: unknown[] = [scope, after ?? "", limit];
      const exists = existingCondition(dialect, which, values);
      const rows = await connection.query<{ user_group_id: string }>(
        `SELECT user_group_id FROM ${tables.groups}
         WHERE scope = $1 AND user_group_id > $2 AND ${exists} ORDER BY user_group_id LIMIT $3`,
        values,
      );
      return rows.map((row) => row.user_group_id);
    }),

  existingCount: (which) =>
    reader.read(0, (ledger) => {
      const values: unknown[] = [ledger.scope];
      const exists = existingCondition(ledger.dialect, which, values);
      return countWhere(ledger, ledger.tables.groups, `scope = $1 AND ${exists}`, values);
    }),

  sharedGroups: ({ baseUrl, teamId }) =>
    reader.read([], async ({ connection, tables, scope }) => {
      const isSameTeam = teamId === null ? "" : "AND s.team_id = $3";
      const rows = await connection.query<Omit<SharedGroups, "count"> & { readonly count: string }>(
        `SELECT o.scope, count(*) AS "count", min(o.user_group_id) AS "first"
         FROM ${tables.services} AS s
           JOIN ${tables.groups} AS o ON o.scope = s.scope
           JOIN ${tables.groups} AS g ON g.scope = $1 AND g.user_group_id = o.user_group_id
         WHERE s.scope <> $1 AND s.base_url = $2 ${isSameTeam} AND (o.fingerprint IS NOT NULL OR o.intent IS NOT NULL)
         GROUP BY o.scope ORDER BY o.scope`,
        [scope, baseUrl, ...(teamId === null ? [] : [teamId])],
      );
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    }),
});

interface BucketColumns {
  readonly bucket: number;
  readonly rows: string;
  readonly sum: string;
  readonly dirty: string;
  readonly owing: string;
}

/** A condition: the group exists, or may exist. Appends its parameters to the statement's `values`. */
function existingCondition(
  { isOneOf }: LedgerScope["dialect"],
  { of, liveSince, isWanted, underWay }: Omit<ExistingOptions, "limit" | "after">,
  values: unknown[],
): string {
  const conditions = ["(intent <> 'remove' OR (intent IS NULL AND fingerprint IS NOT NULL))"];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  if (isWanted) conditions.push("wanted_since IS NOT NULL");
  if (underWay !== undefined) conditions.push("intent IS NOT NULL");
  if (underWay === "a removal") conditions.push("intent IN ('replace', 'delete')");
  if (of !== undefined) conditions.push(isOneOf("user_group_id", parameter(of)));
  if (liveSince !== undefined) {
    // A group that has neither time may have an old token.
    const since = "coalesce(token_since, intent_at)";
    conditions.push(`(${since} IS NULL OR ${since} <= ${parameter(liveSince)})`);
  }
  return conditions.join(" AND ");
}

/** `saved` takes each record that is written. */
export const groupWrites = (ledger: LedgerScope, saved: Map<string, GroupRecord | null>): GroupWrites => ({
  async change(events, now) {
    const { before, after } = await changeRecords(ledger, events, now);
    for (const [id, record] of after) saved.set(id, record);
    return before;
  },

  changeAll: (event, now) => changeEach(ledger, event, now, "TRUE", []),
});
