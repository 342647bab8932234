import type { HeldRemoval } from "../../../core/deletion/removals.ts";
import { type FailingGroup, failingGroup } from "../../../core/failure/group-failures.ts";
import { FAILED_BY_SERVICE } from "../../../core/failure/service-failure.ts";
import type { Group } from "../../../core/group/group.ts";
import { STALE_CODE } from "../../../core/plan/read-history.ts";
import type { LeaseHolder } from "../../../ports/ledger/lease.ts";
import type {
  FormerToken,
  GroupRecord,
  HeldGroups,
  LedgerStatus,
  RecordedGroup,
  RecordedRemoval,
  RecordedRun,
  StatusReads,
} from "../../../ports/ledger/scope.ts";
import { storable } from "../connection/storable.ts";
import { rejections } from "./rejections.ts";
import { FAILING_SINCE, FAILURE_COLUMNS, type FailureValues, failureIn, IS_FAILING, KINDS } from "./rows.ts";
import { recordedRuns } from "./runs.ts";
import { type LedgerReader, type LedgerScope, ofIds, possibleIds } from "./scope.ts";
import { serviceReads } from "./service.ts";

/** A list of groups shows this many at most. */
const SHOWN = 100;
const SHOWN_RUNS = 10;
/** In characters. */
const LONGEST_NAME = 200;

/** The status of an empty ledger. */
const NO_STATUS: Omit<LedgerStatus, "service"> = {
  groups: { total: 0, in_sync: 0, under_way: 0, failing: 0, missing: 0, unverified: 0 },
  oldestToken: null,
  oldestUnsynced: null,
  held: null,
  failing: [],
  rejected: [],
  runs: [],
  unanswered: null,
  lease: null,
};

const NO_RECORD: GroupRecord = { group: null, removals: [], formerTokens: [] };

export const statusReads = (reader: LedgerReader): StatusReads => ({
  status: async () => ({
    ...(await reader.read(NO_STATUS, async (ledger) => ({
      ...(await groupSums(ledger)),
      held: await heldGroups(ledger),
      failing: await failingGroups(ledger),
      rejected: await rejections(ledger),
      runs: await recordedRuns(ledger, "TRUE", SHOWN_RUNS),
      unanswered: await unanswered(ledger),
      lease: await leaseHolder(ledger),
    }))),
    service: await serviceReads(reader).service(),
  }),

  record: (id) =>
    reader.read(NO_RECORD, async (ledger) => {
      // The ledger has no such id, and PostgreSQL would refuse it.
      if (storable(id) !== id) return NO_RECORD;
      const { connection, tables, scope } = ledger;
      const [row] = await connection.query<RecordColumns>(
        `SELECT created_at AS "createdAt", updated_at AS "changedAt", intent_at AS "intentAt", confirmed,
           service_name AS "serviceName", token_fingerprint AS "tokenFingerprint", token_since AS "tokenSince",
           verified_at AS "lastAsked", ${unverifiedIn(ledger)} AS unverified, ${FAILURE_COLUMNS}
         FROM ${tables.groups} WHERE scope = $1 AND user_group_id = $2`,
        [scope, id],
      );
      const removals = await connection.query<RecordedRemoval>(
        `SELECT kind, removed_at AS "at" FROM ${tables.removals}
         WHERE scope = $1 AND user_group_id = $2 ORDER BY id DESC LIMIT ${SHOWN}`,
        [scope, id],
      );
      const formerTokens = await connection.query<FormerToken>(
        `SELECT token_fingerprint AS "fingerprint", live_since AS "since", live_until AS "until"
         FROM ${tables.formerTokens} WHERE scope = $1 AND user_group_id = $2 ORDER BY id DESC LIMIT ${SHOWN}`,
        [scope, id],
      );
      return { group: row ? recordedGroup(row) : null, removals, formerTokens };
    }),

  names: (ids) =>
    reader.read(new Map(), async (ledger) => {
      const rows = await ledger.connection.query<{ user_group_id: string; name: string }>(
        `SELECT user_group_id, left(service_name, ${LONGEST_NAME}) AS name FROM ${ledger.tables.groups}
         WHERE ${ofIds(ledger)} AND service_name IS NOT NULL`,
        [ledger.scope, possibleIds(ids)],
      );
      return new Map(rows.map(({ user_group_id, name }) => [user_group_id, name]));
    }),
});

async function groupSums(
  ledger: LedgerScope,
): Promise<Pick<LedgerStatus, "groups" | "oldestToken" | "oldestUnsynced">> {
  const { connection, tables, scope } = ledger;
  const [row] = await connection.query<GroupSums>(
    `SELECT count(*) AS total,
       count(CASE WHEN intent IS NULL AND NOT ${IS_FAILING} AND missing_kind IS NULL AND held IS NULL
         THEN 1 END) AS in_sync,
       count(CASE WHEN intent IS NOT NULL THEN 1 END) AS under_way,
       count(CASE WHEN ${IS_FAILING} THEN 1 END) AS failing,
       count(CASE WHEN missing_kind IS NOT NULL THEN 1 END) AS missing,
       count(${unverifiedIn(ledger)}) AS unverified,
       min(token_since) AS "oldestToken",
       min(CASE WHEN intent IS NOT NULL THEN intent_at END) AS "underWaySince",
       min(${FAILING_SINCE}) AS "failingSince"
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
      missing: Number(counts.missing),
      unverified: Number(counts.unverified),
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

/** SQL of `RecordedGroup.unverified`; $1 is the scope. */
const unverifiedIn = ({ tables }: LedgerScope): string =>
  `CASE WHEN NOT EXISTS (SELECT 1 FROM ${tables.services} WHERE scope = $1 AND updates) THEN unverified END`;

async function heldGroups({ connection, tables, scope }: LedgerScope): Promise<HeldGroups | null> {
  // Read groups and code in one statement: a run may change both at any time.
  const rows = await connection.query<HeldRemoval & { readonly code: string; readonly count: string }>(
    `SELECT g.user_group_id, g.held AS kind, e.held_code AS code, count(*) OVER () AS count
     FROM ${tables.groups} AS g JOIN ${tables.evidence} AS e ON e.scope = g.scope
     WHERE g.scope = $1 AND g.held IS NOT NULL AND e.held_code IS NOT NULL
     ORDER BY g.user_group_id LIMIT ${SHOWN}`,
    [scope],
  );
  const [first] = rows;
  if (!first) return null;
  const groups = rows.map(({ kind, user_group_id }): HeldRemoval => ({ kind, user_group_id }));
  return { count: Number(first.count), code: first.code === STALE_CODE ? null : first.code, groups };
}

async function failingGroups({ connection, tables, scope }: LedgerScope): Promise<FailingGroup[]> {
  const rows = await connection.query<FailureValues & { readonly user_group_id: string }>(
    `SELECT user_group_id, ${FAILING_SINCE} AS "since", ${FAILURE_COLUMNS}
     FROM ${tables.groups} WHERE scope = $1 AND ${IS_FAILING}
     ORDER BY "since", user_group_id LIMIT ${SHOWN}`,
    [scope],
  );
  return rows.flatMap((row) => {
    const failures = KINDS.flatMap((kind) => failureIn(row, kind) ?? []);
    return failingGroup(row.user_group_id, failures) ?? [];
  });
}

async function unanswered(ledger: LedgerScope): Promise<RecordedRun | null> {
  const { dialect, tables } = ledger;
  const [run] = await recordedRuns(
    ledger,
    `outcome = 'failed' AND ${dialect.isOneOf("error_code", "$3")} AND NOT EXISTS (
       SELECT 1 FROM ${tables.services} AS s WHERE s.scope = $1 AND s.answered_at > finished_at)`,
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

interface RecordColumns extends Omit<RecordedGroup, "confirmed" | "failures">, FailureValues {
  readonly confirmed: string | null;
}

const recordedGroup = (row: RecordColumns): RecordedGroup => ({
  createdAt: row.createdAt,
  changedAt: row.changedAt,
  intentAt: row.intentAt,
  confirmed: row.confirmed === null ? null : (JSON.parse(row.confirmed) as Group),
  serviceName: row.serviceName,
  tokenFingerprint: row.tokenFingerprint,
  tokenSince: row.tokenSince,
  lastAsked: row.lastAsked,
  unverified: row.unverified,
  failures: {
    change: failureIn(row, "change"),
    rotation: failureIn(row, "rotation"),
    storing: failureIn(row, "storing"),
  },
});
