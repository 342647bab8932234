import type { FailureCounts } from "../../../core/failure/group-failures.ts";
import type { Group } from "../../../core/group/group.ts";
import { type LedgerGroup, UNKNOWN_STATE } from "../../../core/group/ledger-group.ts";
import { type Apply, type Change, type Delete, intentOf } from "../../../core/plan/change.ts";
import type { SettledUpdate } from "../../../core/plan/ledger-update.ts";
import type {
  Begun,
  BucketOptions,
  ExistingOptions,
  GroupReads,
  GroupWrites,
  KnownGroup,
  LedgerBucket,
  SharedGroups,
} from "../../../ports/ledger/groups.ts";
import type { KnownService } from "../../../ports/ledger/scope.ts";
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
import { type LedgerReader, type LedgerScope, ofIds, updateGroups } from "./scope.ts";

const BATCH = 5_000;
const SETTLED_COLUMNS = { id: "id", bucket: "integer", digest: "bigint", data_source_id: "text" } as const;

export const groupReads = (reader: LedgerReader): GroupReads => ({
  buckets: (options) => reader.read([], (ledger) => buckets(ledger, options)),
  groups: (ofBuckets) => groups(reader, ofBuckets),
  of: (ids) => reader.read([], (ledger) => groupsOf(ledger, ids)),
  confirmed: (ids) => reader.read(new Map(), (ledger) => confirmed(ledger, ids)),
  existing: (options) => reader.read([], (ledger) => existing(ledger, options)),
  existingCount: (which) => reader.read(0, (ledger) => existingCount(ledger, which)),
  sharedGroups: (service) => reader.read([], (ledger) => sharedGroups(ledger, service)),
});

export const groupWrites = (ledger: LedgerScope): GroupWrites => ({
  ...intentWrites(ledger),
  record: (outcomes, now) => recordOutcomes(ledger, outcomes, now),
  markSettled: (settled) => markSettled(ledger, settled),
  forget: (ids) => forget(ledger, ids),
  forgetFailedChanges: (ids) =>
    updateGroups(
      ledger,
      ids.map((id) => ({ id })),
      { id: "id" },
      noFailure("change"),
    ),
});

async function buckets(
  { connection, tables, scope }: LedgerScope,
  { unverifiedAtRest }: BucketOptions,
): Promise<readonly LedgerBucket[]> {
  const rows = await connection.query<BucketColumns>(
    `SELECT bucket, count(CASE WHEN at_rest THEN 1 END) AS "rows",
       coalesce(sum(CASE WHEN at_rest THEN row_digest END), 0) AS "sum",
       count(CASE WHEN NOT at_rest THEN 1 END) AS "restless"
     FROM (
       SELECT bucket, row_digest, fingerprint IS NOT NULL AND fingerprint <> $3 AND row_digest IS NOT NULL
         AND intent IS NULL AND missing_kind IS NULL AND failure_count = 0 AND storing_code IS NULL
         AND (${HAS_NO_UNVERIFIED_UPDATE} OR $2) AS at_rest
       FROM ${tables.groups} WHERE scope = $1
       UNION ALL SELECT bucket, NULL, FALSE FROM ${tables.rejections} WHERE scope = $1) AS g
     GROUP BY bucket`,
    [scope, unverifiedAtRest, UNKNOWN_STATE],
  );
  return rows.map(({ bucket, rows, sum, restless }) => {
    return { bucket, rows: Number(rows), sum, restless: Number(restless) };
  });
}

interface BucketColumns {
  readonly bucket: number;
  readonly rows: string;
  readonly sum: string;
  readonly restless: string;
}

async function* groups(
  reader: LedgerReader,
  ofBuckets: readonly number[] | undefined,
): AsyncGenerator<readonly LedgerGroup[]> {
  const ledger = await reader.read(undefined, async (found) => found);
  if (!ledger) return;
  const { dialect, tables, scope } = ledger;
  const text = `
    SELECT ${groupColumns(dialect)} FROM ${tables.groups}
    WHERE scope = $1 ${ofBuckets ? `AND ${dialect.isOneOf("bucket", "$2")}` : ""}
    ORDER BY user_group_id`;
  try {
    const batches = reader.database.stream<GroupColumns>(
      dialect.begin.snapshot,
      text,
      ofBuckets ? [scope, ofBuckets] : [scope],
      BATCH,
    );
    for await (const rows of batches) yield rows.map(ledgerGroup);
  } catch (error) {
    throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
  }
}

async function groupsOf(ledger: LedgerScope, ids: readonly string[]): Promise<readonly LedgerGroup[]> {
  const { dialect, connection, tables, scope } = ledger;
  const rows = await connection.query<NamedGroupColumns>(
    `SELECT ${groupColumns(dialect)} AS more FROM ${tables.groups} WHERE ${ofIds(ledger)} ORDER BY user_group_id`,
    // The ledger has no other ids, and PostgreSQL would refuse them.
    [scope, ids.filter((id) => storable(id) === id)],
  );
  return rows.map((row) =>
    ledgerGroup([row.user_group_id, row.fingerprint, row.bucket, row.row_digest, row.more]),
  );
}

interface NamedGroupColumns {
  readonly user_group_id: string;
  readonly fingerprint: string | null;
  readonly bucket: number;
  readonly row_digest: string | null;
  readonly more: string | null;
}

async function confirmed(
  { dialect, connection, tables, scope }: LedgerScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Group>> {
  const rows = await connection.query<{ confirmed: string }>(
    `SELECT confirmed FROM ${tables.groups}
     WHERE scope = $1 AND ${dialect.isOneOf("user_group_id", "$2")} AND confirmed IS NOT NULL`,
    [scope, ids],
  );
  const groups = rows.map((row) => JSON.parse(row.confirmed) as Group);
  return new Map(groups.map((group) => [group.user_group_id, group]));
}

async function existing(
  { dialect, connection, tables, scope }: LedgerScope,
  { limit, after, ...which }: ExistingOptions,
): Promise<string[]> {
  const { text, values } = existingCondition(dialect, which, 4);
  const rows = await connection.query<{ user_group_id: string }>(
    `SELECT user_group_id FROM ${tables.groups}
     WHERE scope = $1 AND user_group_id > $2 AND ${text} ORDER BY user_group_id LIMIT $3`,
    [scope, after ?? "", limit, ...values],
  );
  return rows.map((row) => row.user_group_id);
}

async function existingCount(
  { dialect, connection, tables, scope }: LedgerScope,
  which: WhichExisting,
): Promise<number> {
  const { text, values } = existingCondition(dialect, which, 2);
  const [row] = await connection.query<{ count: string }>(
    `SELECT count(*) AS "count" FROM ${tables.groups} WHERE scope = $1 AND ${text}`,
    [scope, ...values],
  );
  return Number(row?.count ?? 0);
}

async function sharedGroups(
  { connection, tables, scope }: LedgerScope,
  { baseUrl, teamId }: Pick<KnownService, "baseUrl" | "teamId">,
): Promise<readonly SharedGroups[]> {
  const isSameTeam = teamId === null ? "" : "AND s.team_id = $3";
  const rows = await connection.query<SharedColumns>(
    `SELECT o.scope, count(*) AS "count", min(o.user_group_id) AS "first"
     FROM ${tables.services} AS s
       JOIN ${tables.groups} AS o ON o.scope = s.scope
       JOIN ${tables.groups} AS g ON g.scope = $1 AND g.user_group_id = o.user_group_id
     WHERE s.scope <> $1 AND s.base_url = $2 ${isSameTeam} AND (o.fingerprint IS NOT NULL OR o.intent IS NOT NULL)
     GROUP BY o.scope ORDER BY o.scope`,
    [scope, baseUrl, ...(teamId === null ? [] : [teamId])],
  );
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

interface SharedColumns extends Omit<SharedGroups, "count"> {
  readonly count: string;
}

type WhichExisting = Pick<ExistingOptions, "liveSince" | "of" | "underWay">;

/** `first` is the number of the condition's first parameter. */
function existingCondition(
  { isOneOf }: LedgerScope["dialect"],
  { of, liveSince, underWay }: WhichExisting,
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

function markSettled(ledger: LedgerScope, settled: readonly SettledUpdate[]): Promise<void> {
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
}

async function forget(ledger: LedgerScope, ids: readonly string[]): Promise<void> {
  // Keep groups that were made, or may have been made: no other inventory has them.
  await ledger.connection.query(
    `DELETE FROM ${ledger.tables.groups}
     WHERE ${ofIds(ledger)} AND fingerprint IS NULL AND intent IS NULL`,
    [ledger.scope, ids],
  );
}

const INTENT_COLUMNS = {
  id: "id",
  bucket: "integer",
  data_source_id: "text",
  intent: "text",
  fingerprint: "text",
} as const;
const WITHDRAWN_COLUMNS = { id: "id", intent: "text", intended: "text" } as const;

/** Intents: marks that are committed before the calls that they announce. */
const intentWrites = (ledger: LedgerScope): Pick<GroupWrites, "begin" | "withdraw"> => ({
  begin: (changes, now) => begin(ledger, changes, now),
  withdraw: (begun) => withdraw(ledger, begun),
});

async function begin(ledger: LedgerScope, changes: readonly Change[], now: Date): Promise<readonly Begun[]> {
  const rows = await ledger.connection.query<KnownRow>(
    `SELECT user_group_id, service_name AS "name", confirmed, fingerprint, unverified, token_fingerprint AS "tokenFingerprint",
         data_source_id AS "dataSourceId", intent, CASE WHEN intent IS NOT NULL THEN intent_fingerprint END AS intended,
         ${FAILURE_COUNTS}
       FROM ${ledger.tables.groups} WHERE ${ofIds(ledger)}`,
    [ledger.scope, idsOf(changes)],
  );
  const applies = changes.filter((change) => change.kind !== "delete");
  const deletes = changes.filter((change) => change.kind === "delete");
  const known = new Map(rows.map((row) => [row.user_group_id, knownGroup(row)]));
  if (applies.length > 0) await intendToApply(ledger, applies, known, now);
  if (deletes.length > 0) await intendToDelete(ledger, deletes, now);
  return changes.map((change) => ({ change, before: known.get(change.user_group_id) ?? null }));
}

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

async function intendToDelete(ledger: LedgerScope, deletes: readonly Delete[], now: Date): Promise<void> {
  await ledger.connection.query(
    `UPDATE ${ledger.tables.groups}
       SET intent = CASE WHEN intent = 'remove' THEN intent ELSE 'delete' END, intent_at = coalesce(intent_at, $3)
       WHERE ${ofIds(ledger)}`,
    [ledger.scope, idsOf(deletes), now],
  );
}

async function withdraw(ledger: LedgerScope, begun: readonly Begun[]): Promise<void> {
  const fresh = begun.filter(({ before }) => before === null);
  const known = begun.filter(({ before }) => before !== null);
  if (fresh.length > 0) {
    await ledger.connection.query(`DELETE FROM ${ledger.tables.groups} WHERE ${ofIds(ledger)}`, [
      ledger.scope,
      idsOf(fresh.map(({ change }) => change)),
    ]);
  }
  const rows = known.map(({ change, before }) => ({
    id: change.user_group_id,
    intent: before?.intent ?? null,
    intended: before?.intended ?? null,
  }));
  await updateGroups(ledger, rows, WITHDRAWN_COLUMNS, {
    intent_at: "CASE WHEN t.intent IS NOT NULL THEN g.intent_at END",
    intent: "t.intent",
    intent_fingerprint: "t.intended",
  });
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
