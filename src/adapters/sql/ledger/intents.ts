import type { FailureCounts } from "../../../core/failure/group-failures.ts";
import type { Group } from "../../../core/group/group.ts";
import { type Apply, type Change, type Delete, intentOf } from "../../../core/plan/change.ts";
import type { Begun, GroupWrites, KnownGroup } from "../../../ports/ledger/groups.ts";
import { storable } from "../connection/storable.ts";
import { FAILURE_COUNTS } from "./rows/failure-columns.ts";
import { type LedgerScope, ofIds, updateGroups } from "./rows/scope.ts";

const INTENT_COLUMNS = {
  id: "id",
  bucket: "integer",
  data_source_id: "text",
  intent: "text",
  fingerprint: "text",
} as const;
const WITHDRAWN_COLUMNS = { id: "id", intent: "text", intended: "text" } as const;

/** Intents: marks that are committed before the calls that they announce. */
export const intentWrites = (ledger: LedgerScope): Pick<GroupWrites, "begin" | "withdraw"> => ({
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
