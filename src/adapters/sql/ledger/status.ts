import { doesUpdate } from "../../../core/apply/update-evidence.ts";
import type { HeldRemoval } from "../../../core/deletion/removals.ts";
import { type FailingGroup, failingGroup } from "../../../core/failure/group-failures.ts";
import { FAILED_BY_SERVICE } from "../../../core/failure/service-failure.ts";
import { STALE_CODE } from "../../../core/plan/read-history.ts";
import { owedFailures } from "../../../core/record/owes.ts";
import type { LeaseHolder } from "../../../ports/ledger/lease.ts";
import type {
  FormerToken,
  GroupHistory,
  HeldGroups,
  KnownService,
  LedgerStatus,
  RecordedRemoval,
  RecordedRun,
  StatusReads,
} from "../../../ports/ledger/scope.ts";
import { storable } from "../connection/storable.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { recordsOf, recordsWhere } from "./records.ts";
import { rejections } from "./rejections.ts";
import { recordedRuns } from "./runs.ts";
import type { LedgerScope } from "./scope.ts";
import { scopeReads } from "./scope-state.ts";

/** A list of groups shows this many at most. */
const SHOWN = 100;
const SHOWN_RUNS = 10;

/** The status of an empty ledger. */
const NO_STATUS: Omit<LedgerStatus, "service"> = {
  groups: {
    total: 0,
    in_sync: 0,
    under_way: 0,
    failing: 0,
    in_doubt: 0,
    wanted: 0,
    missing: 0,
    unverified: 0,
  },
  oldestToken: null,
  oldestUnsynced: null,
  held: null,
  failing: [],
  rejected: [],
  runs: [],
  unanswered: null,
  lease: null,
};

const NO_RECORD: GroupHistory = { group: null, removals: [], formerTokens: [] };

export const statusReads = (reader: LedgerReader): StatusReads => ({
  status: async () => {
    const { service } = await scopeReads(reader).scope();
    const sums = await reader.read(NO_STATUS, async (ledger) => ({
      ...(await groupSums(ledger, service)),
      held: await heldGroups(ledger),
      failing: await failingGroups(ledger),
      rejected: await rejections(ledger),
      runs: await recordedRuns(ledger, "TRUE", SHOWN_RUNS),
      unanswered: await unanswered(ledger),
      lease: await leaseHolder(ledger),
    }));
    return { ...sums, service };
  },

  record: async (id) => {
    const { service } = await scopeReads(reader).scope();
    return reader.read(NO_RECORD, (ledger) => groupHistory(ledger, id, service));
  },
});

const IS_UNDER_WAY = "(owes LIKE '%under way%' OR owes LIKE '%leftover%')";

async function groupSums(
  { connection, tables, scope }: LedgerScope,
  { evidence }: KnownService,
): Promise<Pick<LedgerStatus, "groups" | "oldestToken" | "oldestUnsynced">> {
  const [row] = await connection.query<GroupSums>(
    `SELECT count(*) AS total,
       count(CASE WHEN owes IS NULL AND gone IS NULL THEN 1 END) AS in_sync,
       count(CASE WHEN ${IS_UNDER_WAY} THEN 1 END) AS under_way,
       count(failing_since) AS failing,
       count(CASE WHEN owes LIKE '%doubted%' THEN 1 END) AS in_doubt,
       count(wanted_since) AS wanted,
       count(gone) AS missing,
       count(unverified) AS unverified,
       min(token_since) AS "oldestToken",
       min(CASE WHEN ${IS_UNDER_WAY} THEN intent_at END) AS "underWaySince",
       min(failing_since) AS "failingSince"
     FROM ${tables.groups} WHERE scope = $1`,
    [scope],
  );
  if (!row) return NO_STATUS;
  const { oldestToken, underWaySince, failingSince, ...counts } = row;
  const isFailing = failingSince && !(underWaySince && underWaySince < failingSince);
  return {
    groups: {
      total: Number(counts.total),
      in_sync: Number(counts.in_sync),
      under_way: Number(counts.under_way),
      failing: Number(counts.failing),
      in_doubt: Number(counts.in_doubt),
      wanted: Number(counts.wanted),
      missing: Number(counts.missing),
      unverified: doesUpdate(evidence) ? 0 : Number(counts.unverified),
    },
    oldestToken,
    oldestUnsynced: isFailing ? failingSince : underWaySince,
  };
}

interface GroupSums extends Readonly<Record<keyof LedgerStatus["groups"], string>> {
  readonly oldestToken: Date | null;
  readonly underWaySince: Date | null;
  readonly failingSince: Date | null;
}

async function heldGroups({ connection, tables, scope }: LedgerScope): Promise<HeldGroups | null> {
  // Read groups and code in one statement: a run may change both at any time.
  const rows = await connection.query<HeldRemoval & { readonly code: string; readonly count: string }>(
    `SELECT g.user_group_id, g.held AS kind, s.held_code AS code, count(*) OVER () AS count
     FROM ${tables.groups} AS g JOIN ${tables.scopes} AS s ON s.scope = g.scope
     WHERE g.scope = $1 AND g.held IS NOT NULL AND s.held_code IS NOT NULL
     ORDER BY g.user_group_id LIMIT ${SHOWN}`,
    [scope],
  );
  const [first] = rows;
  if (!first) return null;
  const groups = rows.map(({ kind, user_group_id }): HeldRemoval => ({ kind, user_group_id }));
  return { count: Number(first.count), code: first.code === STALE_CODE ? null : first.code, groups };
}

async function failingGroups(ledger: LedgerScope): Promise<FailingGroup[]> {
  const records = await recordsWhere(
    ledger,
    `scope = $1 AND failing_since IS NOT NULL ORDER BY failing_since, user_group_id LIMIT ${SHOWN}`,
    [ledger.scope],
  );
  return records.flatMap((record) => failingGroup(record.user_group_id, owedFailures(record)) ?? []);
}

async function unanswered(ledger: LedgerScope): Promise<RecordedRun | null> {
  const { dialect, tables } = ledger;
  const [run] = await recordedRuns(
    ledger,
    `outcome = 'failed' AND ${dialect.isOneOf("error_code", "$3")} AND NOT EXISTS (
       SELECT 1 FROM ${tables.scopes} AS s WHERE s.scope = $1 AND s.answered_at > finished_at)`,
    1,
    [FAILED_BY_SERVICE],
  );
  return run ?? null;
}

async function leaseHolder({ dialect, connection, tables, scope }: LedgerScope): Promise<LeaseHolder | null> {
  const [row] = await connection.query<LeaseHolder>(
    `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt"
     FROM ${tables.leases} WHERE scope = $1 AND expires_at > ${dialect.now}`,
    [scope],
  );
  return row ?? null;
}

async function groupHistory(
  ledger: LedgerScope,
  id: string,
  { evidence }: KnownService,
): Promise<GroupHistory> {
  // The ledger has no such id, and PostgreSQL would refuse it.
  if (storable(id) !== id) return NO_RECORD;
  const { connection, tables, scope } = ledger;
  const record = (await recordsOf(ledger, [id])).get(id);
  const removals = await connection.query<RecordedRemoval>(
    `SELECT kind, removed_at AS "at" FROM ${tables.removals}
     WHERE scope = $1 AND user_group_id = $2 AND kind <> 'token' ORDER BY id DESC LIMIT ${SHOWN}`,
    [scope, id],
  );
  const formerTokens = await connection.query<FormerToken>(
    `SELECT token_fingerprint AS "fingerprint", live_since AS "since", live_until AS "until"
     FROM ${tables.formerTokens} WHERE scope = $1 AND user_group_id = $2 ORDER BY id DESC LIMIT ${SHOWN}`,
    [scope, id],
  );
  const group = record ? { ...record, unverified: doesUpdate(evidence) ? null : record.unverified } : null;
  return { group, removals, formerTokens };
}
