import type { FailureCounts } from "../../../core/failure/group-failures.ts";
import type { Group } from "../../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../../core/group/ledger-group.ts";
import { type Apply, intentOf } from "../../../core/plan/change.ts";
import type {
  ExistingOptions,
  GroupReads,
  GroupWrites,
  KnownGroup,
  SharedGroups,
} from "../../../ports/ledger/groups.ts";
import { databaseError } from "../connection/failures.ts";
import { storable } from "../connection/storable.ts";
import { NOTHING_MISSING } from "./deletions.ts";
import { recordOutcomes } from "./outcomes.ts";
import {
  FAILURE_COUNTS,
  type GroupColumns,
  groupColumns,
  HAS_NO_UNVERIFIED_UPDATE,
  ledgerGroup,
  noFailure,
} from "./rows.ts";
import {
  countWhere,
  type LedgerReader,
  type LedgerScope,
  ofIds,
  possibleIds,
  updateGroups,
} from "./scope.ts";

const BATCH = 5_000;

export const groupReads = (reader: LedgerReader): GroupReads => ({
  buckets: ({ unverifiedAtRest }) =>
    reader.read([], async ({ connection, tables, scope }) => {
      const rows = await connection.query<BucketColumns>(
        `SELECT bucket, count(CASE WHEN at_rest THEN 1 END) AS "rows",
           coalesce(sum(CASE WHEN at_rest THEN row_digest END), 0) AS "sum",
           count(CASE WHEN NOT at_rest THEN 1 END) AS "restless"
         FROM (
           SELECT bucket, row_digest, fingerprint IS NOT NULL AND fingerprint <> $3 AND row_digest IS NOT NULL
             AND intent IS NULL AND missing_kind IS NULL AND change_count = 0 AND storing_code IS NULL
             AND (${HAS_NO_UNVERIFIED_UPDATE} OR $2) AS at_rest
           FROM ${tables.groups} WHERE scope = $1
           UNION ALL SELECT bucket, NULL, FALSE FROM ${tables.rejections} WHERE scope = $1) AS g
         GROUP BY bucket`,
        [scope, unverifiedAtRest, UNKNOWN_STATE],
      );
      return rows.map(({ bucket, rows, sum, restless }) => {
        return { bucket, rows: Number(rows), sum, restless: Number(restless) };
      });
    }),

  async *groups(ofBuckets) {
    const ledger = await reader.read(undefined, async (found) => found);
    if (!ledger) return;
    const { dialect, tables, scope } = ledger;
    const text = `
      SELECT ${groupColumns(dialect)} FROM ${tables.groups}
      WHERE scope = $1 ${ofBuckets ? `AND ${dialect.isOneOf("bucket", "$2")}` : ""}
      ORDER BY user_group_id`;
    const values = ofBuckets ? [scope, ofBuckets] : [scope];
    try {
      const batches = reader.database.stream<GroupColumns>(dialect.begin.snapshot, text, values, BATCH);
      for await (const rows of batches) yield rows.map(ledgerGroup);
    } catch (error) {
      throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  },

  of: (ids) =>
    reader.read([], async (ledger) => {
      const { dialect, connection, tables, scope } = ledger;
      const rows = await connection.query<NamedGroupColumns>(
        `SELECT ${groupColumns(dialect)} AS more FROM ${tables.groups} WHERE ${ofIds(ledger)} ORDER BY user_group_id`,
        [scope, possibleIds(ids)],
      );
      return rows.map((row) =>
        ledgerGroup([row.user_group_id, row.fingerprint, row.bucket, row.row_digest, row.more]),
      );
    }),

  confirmed: (ids) =>
    reader.read(new Map(), async (ledger) => {
      const rows = await ledger.connection.query<{ confirmed: string }>(
        `SELECT confirmed FROM ${ledger.tables.groups} WHERE ${ofIds(ledger)} AND confirmed IS NOT NULL`,
        [ledger.scope, ids],
      );
      const groups = rows.map((row) => JSON.parse(row.confirmed) as Group);
      return new Map(groups.map((group) => [group.user_group_id, group]));
    }),

  existing: ({ limit, after, ...which }) =>
    reader.read([], async ({ dialect, connection, tables, scope }) => {
      const { text, values } = existingCondition(dialect, which, 4);
      const rows = await connection.query<{ user_group_id: string }>(
        `SELECT user_group_id FROM ${tables.groups}
         WHERE scope = $1 AND user_group_id > $2 AND ${text} ORDER BY user_group_id LIMIT $3`,
        [scope, after ?? "", limit, ...values],
      );
      return rows.map((row) => row.user_group_id);
    }),

  existingCount: (which) =>
    reader.read(0, (ledger) => {
      const { text, values } = existingCondition(ledger.dialect, which, 2);
      return countWhere(ledger, ledger.tables.groups, `scope = $1 AND ${text}`, [ledger.scope, ...values]);
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
  readonly restless: string;
}

interface NamedGroupColumns {
  readonly user_group_id: string;
  readonly fingerprint: string | null;
  readonly bucket: number;
  readonly row_digest: string | null;
  readonly more: string | null;
}

/** `first` is the number of the condition's first parameter. */
function existingCondition(
  { isOneOf }: LedgerScope["dialect"],
  { of, liveSince, underWay }: Pick<ExistingOptions, "liveSince" | "of" | "underWay">,
  first: number,
): { text: string; values: unknown[] } {
  const conditions = ["(intent <> 'remove' OR (intent IS NULL AND fingerprint IS NOT NULL))"];
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${first + values.push(value) - 1}`;
  if (underWay !== undefined) conditions.push("intent IS NOT NULL");
  if (underWay === "a removal") conditions.push("intent IN ('replace', 'delete')");
  if (of !== undefined) conditions.push(isOneOf("user_group_id", parameter(of)));
  if (liveSince !== undefined) {
    // A group that has neither time may have an old token.
    const since = "coalesce(token_since, intent_at)";
    conditions.push(`(${since} IS NULL OR ${since} <= ${parameter(liveSince)})`);
  }
  return { text: conditions.join(" AND "), values };
}

const SETTLED_COLUMNS = { id: "id", bucket: "integer", digest: "bigint", data_source_id: "text" } as const;
const INTENT_COLUMNS = {
  id: "id",
  bucket: "integer",
  data_source_id: "text",
  intent: "text",
  fingerprint: "text",
} as const;
const WITHDRAWN_COLUMNS = { id: "id", intent: "text", intended: "text" } as const;

export const groupWrites = (ledger: LedgerScope): GroupWrites => {
  const { connection, tables, scope } = ledger;
  return {
    async begin(changes, now) {
      const rows = await connection.query<KnownRow>(
        `SELECT user_group_id, service_name AS "name", confirmed, fingerprint, unverified, token_fingerprint AS "tokenFingerprint",
           data_source_id AS "dataSourceId", intent, CASE WHEN intent IS NOT NULL THEN intent_fingerprint END AS intended,
           ${FAILURE_COUNTS}
         FROM ${tables.groups} WHERE ${ofIds(ledger)}`,
        [scope, idsOf(changes)],
      );
      const known = new Map(rows.map((row) => [row.user_group_id, knownGroup(row)]));
      const applies = changes.filter((change) => change.kind !== "delete");
      if (applies.length > 0) await intendToApply(ledger, applies, known, now);
      const deletes = changes.filter((change) => change.kind === "delete");
      if (deletes.length > 0) {
        await connection.query(
          `UPDATE ${tables.groups}
           SET intent = CASE WHEN intent = 'remove' THEN intent ELSE 'delete' END, intent_at = coalesce(intent_at, $3)
           WHERE ${ofIds(ledger)}`,
          [scope, idsOf(deletes), now],
        );
      }
      return changes.map((change) => ({ change, before: known.get(change.user_group_id) ?? null }));
    },

    async withdraw(begun) {
      const fresh = begun.filter(({ before }) => before === null);
      if (fresh.length > 0) {
        await connection.query(`DELETE FROM ${tables.groups} WHERE ${ofIds(ledger)}`, [
          scope,
          idsOf(fresh.map(({ change }) => change)),
        ]);
      }
      const rows = begun.flatMap(({ change, before }) =>
        before ? [{ id: change.user_group_id, intent: before.intent, intended: before.intended }] : [],
      );
      await updateGroups(ledger, rows, WITHDRAWN_COLUMNS, {
        intent_at: "CASE WHEN t.intent IS NOT NULL THEN g.intent_at END",
        intent: "t.intent",
        intent_fingerprint: "t.intended",
      });
    },

    record: (outcomes, now) => recordOutcomes(ledger, outcomes, now),

    markSettled(settled) {
      const rows = settled.map(({ user_group_id, row, dataSourceId }) => ({
        id: user_group_id,
        bucket: row.bucket,
        digest: row.digest,
        data_source_id: storable(dataSourceId),
      }));
      return updateGroups(ledger, rows, SETTLED_COLUMNS, {
        bucket: "t.bucket",
        row_digest: "t.digest",
        data_source_id: "t.data_source_id",
        ...NOTHING_MISSING,
        held: "NULL",
        ...noFailure("change"),
      });
    },

    async forget(ids) {
      // Keep groups that were made, or may have been made: no other inventory has them.
      await connection.query(
        `DELETE FROM ${tables.groups} WHERE ${ofIds(ledger)} AND fingerprint IS NULL AND intent IS NULL`,
        [scope, ids],
      );
    },

    forgetFailedChanges(ids) {
      const rows = ids.map((id) => ({ id }));
      return updateGroups(ledger, rows, { id: "id" }, noFailure("change"));
    },
  };
};

async function intendToApply(
  ledger: LedgerScope,
  applies: readonly Apply[],
  known: ReadonlyMap<string, KnownGroup>,
  now: Date,
): Promise<void> {
  const rows = applies.map((apply) => ({
    id: apply.user_group_id,
    bucket: apply.row.bucket,
    data_source_id: storable(apply.dataSourceId),
    intent: intentOf(apply, known.get(apply.user_group_id)?.intent),
    fingerprint: apply.fingerprint,
  }));
  await ledger.connection.query(
    ledger.dialect.upsert({
      into: ledger.tables.groups,
      columns: [
        ...["scope", "user_group_id", "bucket", "data_source_id", "intent", "intent_fingerprint"],
        ...["intent_at", "created_at", "updated_at"],
      ],
      from: `SELECT $1, t.*, $3, $3, $3 FROM ${ledger.dialect.rows("$2", INTENT_COLUMNS)}`,
      key: ["scope", "user_group_id"],
      set: (is, was) => ({
        intent_at: `coalesce(${was("intent_at")}, ${is("intent_at")})`,
        intent_fingerprint: `CASE
            WHEN ${was("intent")} IS NULL OR ${was("intent_fingerprint")} = ${is("intent_fingerprint")}
            THEN ${is("intent_fingerprint")} END`,
        // If the group was never made, keep only the newest value.
        data_source_id: `CASE WHEN ${was("fingerprint")} IS NULL AND ${was("intent")} IS NULL
            THEN ${is("data_source_id")} ELSE ${was("data_source_id")} END`,
        intent: is("intent"),
      }),
    }),
    [ledger.scope, JSON.stringify(rows), now],
  );
}

interface KnownRow extends Omit<KnownGroup, "failures" | "acceptedName">, FailureCounts {
  readonly user_group_id: string;
  readonly confirmed: string | null;
}

const knownGroup = ({
  user_group_id: _,
  confirmed,
  change,
  rotation,
  storing,
  ...known
}: KnownRow): KnownGroup => ({
  ...known,
  acceptedName: confirmed === null ? null : (JSON.parse(confirmed) as Group).name,
  failures: { change, rotation, storing },
});

const idsOf = (all: readonly { readonly user_group_id: string }[]): string[] =>
  all.map(({ user_group_id }) => user_group_id);
