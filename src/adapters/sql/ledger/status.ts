import type { HeldRemoval } from "../../../core/deletion/removals.ts";
import { type FailingGroup, failingGroup } from "../../../core/failure/group-failures.ts";
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
  StatusReads,
} from "../../../ports/ledger/scope.ts";
import { storable } from "../connection/storable.ts";
import { FAILING_SINCE, FAILURE_COLUMNS, type FailureValues, failureIn, IS_FAILING, KINDS } from "./rows.ts";
import { latestRuns, rejections } from "./runs.ts";
import { type LedgerReader, type LedgerScope, ofIds } from "./scope.ts";
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
  lease: null,
};

const NO_RECORD: GroupRecord = { group: null, removals: [], formerTokens: [] };

export const statusReads = (reader: LedgerReader): StatusReads => ({
  status: async () => ({
    ...(await reader.read(NO_STATUS, (ledger) => new StatusReader(ledger).read())),
    service: await serviceReads(reader).service(),
  }),
  record: (id) => reader.read(NO_RECORD, (ledger) => groupRecord(ledger, id)),
  names: (ids) => reader.read(new Map(), (ledger) => groupNames(ledger, ids)),
});

/** Sums up one scope of the ledger for people. */
class StatusReader {
  readonly #ledger: LedgerScope;

  constructor(ledger: LedgerScope) {
    this.#ledger = ledger;
  }

  async read(): Promise<Omit<LedgerStatus, "service">> {
    return {
      ...(await this.#groups()),
      oldestToken: await this.#oldestToken(),
      held: await this.#held(),
      failing: await this.#failing(),
      rejected: await rejections(this.#ledger),
      runs: await latestRuns(this.#ledger, SHOWN_RUNS),
      lease: await this.#lease(),
    };
  }

  async #groups(): Promise<Pick<LedgerStatus, "groups" | "oldestUnsynced">> {
    const [row] = await this.#ledger.connection.query<GroupSums>(
      `SELECT count(*) AS total,
         count(CASE WHEN intent IS NULL AND NOT ${IS_FAILING} AND missing_kind IS NULL AND held IS NULL
           THEN 1 END) AS in_sync,
         count(CASE WHEN intent IS NOT NULL THEN 1 END) AS under_way,
         count(CASE WHEN ${IS_FAILING} THEN 1 END) AS failing,
         count(CASE WHEN missing_kind IS NOT NULL THEN 1 END) AS missing,
         count(${unverifiedIn(this.#ledger)}) AS unverified,
         min(CASE WHEN intent IS NOT NULL THEN intent_at END) AS "underWaySince",
         min(${FAILING_SINCE}) AS "failingSince"
       FROM ${this.#ledger.tables.groups} WHERE scope = $1`,
      [this.#ledger.scope],
    );
    if (!row) return NO_STATUS;
    const { underWaySince, failingSince, ...counts } = row;
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
      oldestUnsynced: isFailing ? failingSince : underWaySince,
    };
  }

  async #oldestToken(): Promise<Date | null> {
    const [row] = await this.#ledger.connection.query<{ since: Date | null }>(
      `SELECT min(token_since) AS since FROM ${this.#ledger.tables.groups} WHERE scope = $1`,
      [this.#ledger.scope],
    );
    return row?.since ?? null;
  }

  async #held(): Promise<HeldGroups | null> {
    // Read groups and code in one statement: a run may change both at any time.
    const rows = await this.#ledger.connection.query<HeldColumns>(
      `SELECT g.user_group_id, g.held AS kind, e.held_code AS code, count(*) OVER () AS count
       FROM ${this.#ledger.tables.groups} AS g JOIN ${this.#ledger.tables.evidence} AS e ON e.scope = g.scope
       WHERE g.scope = $1 AND g.held IS NOT NULL AND e.held_code IS NOT NULL
       ORDER BY g.user_group_id LIMIT ${SHOWN}`,
      [this.#ledger.scope],
    );
    const [first] = rows;
    if (!first) return null;
    const groups = rows.map(({ kind, user_group_id }): HeldRemoval => ({ kind, user_group_id }));
    return { count: Number(first.count), code: first.code === STALE_CODE ? null : first.code, groups };
  }

  async #failing(): Promise<FailingGroup[]> {
    const rows = await this.#ledger.connection.query<FailingColumns>(
      `SELECT user_group_id, ${FAILING_SINCE} AS "since", ${FAILURE_COLUMNS}
       FROM ${this.#ledger.tables.groups} WHERE scope = $1 AND ${IS_FAILING}
       ORDER BY "since", user_group_id LIMIT ${SHOWN}`,
      [this.#ledger.scope],
    );
    return rows.flatMap((row) => {
      const failures = KINDS.flatMap((kind) => failureIn(row, kind) ?? []);
      return failingGroup(row.user_group_id, failures) ?? [];
    });
  }

  async #lease(): Promise<LeaseHolder | null> {
    const [row] = await this.#ledger.connection.query<LeaseHolder>(
      `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt"
       FROM ${this.#ledger.tables.leases} WHERE scope = $1 AND expires_at > ${this.#ledger.dialect.now}`,
      [this.#ledger.scope],
    );
    return row ?? null;
  }
}

/** SQL of `RecordedGroup.unverified`; $1 is the scope. */
const unverifiedIn = ({ tables }: LedgerScope): string =>
  `CASE WHEN NOT EXISTS (SELECT 1 FROM ${tables.services} WHERE scope = $1 AND updates) THEN unverified END`;

interface GroupSums extends Readonly<Record<keyof LedgerStatus["groups"], string>> {
  readonly underWaySince: Date | null;
  readonly failingSince: Date | null;
}

interface HeldColumns extends HeldRemoval {
  readonly code: string;
  readonly count: string;
}

interface FailingColumns extends FailureValues {
  readonly user_group_id: string;
}

async function groupNames(ledger: LedgerScope, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await ledger.connection.query<{ user_group_id: string; name: string }>(
    `SELECT user_group_id, left(service_name, ${LONGEST_NAME}) AS name FROM ${ledger.tables.groups}
     WHERE ${ofIds(ledger)} AND service_name IS NOT NULL`,
    // The ledger has no other ids, and PostgreSQL would refuse them.
    [ledger.scope, ids.filter((id) => storable(id) === id)],
  );
  return new Map(rows.map(({ user_group_id, name }) => [user_group_id, name]));
}

/** What the ledger keeps of one id. */
async function groupRecord(ledger: LedgerScope, id: string): Promise<GroupRecord> {
  // The ledger has no such id, and PostgreSQL would refuse it.
  if (storable(id) !== id) return NO_RECORD;
  const { connection, tables, scope } = ledger;
  const rows = await connection.query<RecordColumns>(
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
  const [row] = rows;
  return { group: row ? recordedGroup(row) : null, removals, formerTokens };
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

interface RecordColumns extends Omit<RecordedGroup, "confirmed" | "failures">, FailureValues {
  readonly confirmed: string | null;
}
