import { SyncError } from "../../core/errors.ts";
import type { Group } from "../../core/group.ts";
import type { LedgerGroup } from "../../core/ledger-group.ts";
import type { Counts, RunOutcome } from "../../core/outcome.ts";
import type {
  BucketOptions,
  FailingGroup,
  KnownService,
  LeaseHolder,
  LedgerBucket,
  LedgerStatus,
  LedgerView,
  RecordedRun,
} from "../../ports/ledger.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import {
  LATEST_VERSION,
  type LedgerLocation,
  type LedgerTables,
  ledgerTables,
  ledgerVersion,
} from "./ledger-schema.ts";

const BATCH = 5_000;
const SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const SHOWN_FAILURES = 100;
const SHOWN_RUNS = 10;

const EMPTY: LedgerStatus = {
  groups: { total: 0, in_sync: 0, under_way: 0, failing: 0, missing: 0, unverified: 0 },
  failing: [],
  runs: [],
  lease: null,
  service: { baseUrl: null, teamId: null, updates: null },
};

/** Reads the ledger and changes nothing, not even to create it. */
export class PostgresLedgerView implements LedgerView {
  protected readonly database: Database;
  protected readonly tables: LedgerTables;
  protected readonly scope: string;

  constructor(database: Database, location: LedgerLocation, scope: string) {
    this.database = database;
    this.tables = ledgerTables(location);
    this.scope = scope;
  }

  async service(): Promise<KnownService> {
    return this.#read(EMPTY.service, async () => {
      const [row] = await this.database.query<{
        base_url: string;
        team_id: string | null;
        updates: boolean | null;
      }>(`SELECT base_url, team_id, updates FROM ${this.tables.services} WHERE scope = $1`, [this.scope]);
      if (!row) return EMPTY.service;
      const teamId = row.team_id === null ? null : Number(row.team_id);
      return { baseUrl: row.base_url, teamId, updates: row.updates };
    });
  }

  async buckets({ unverifiedAtRest }: BucketOptions): Promise<readonly LedgerBucket[]> {
    return this.#read([], () =>
      this.database.query<LedgerBucket>(
        `SELECT bucket, (count(*) FILTER (WHERE at_rest))::integer AS rows,
           coalesce(sum(row_digest) FILTER (WHERE at_rest), 0)::text AS sum,
           (count(*) FILTER (WHERE NOT at_rest))::integer AS restless
         FROM (
           SELECT bucket, row_digest, fingerprint IS NOT NULL AND row_digest IS NOT NULL AND intent IS NULL
             AND missing_since IS NULL AND failure_count = 0 AND (unverified IS DISTINCT FROM 'updated' OR $2) AS at_rest
           FROM ${this.tables.groups} WHERE scope = $1) AS g
         GROUP BY bucket`,
        [this.scope, unverifiedAtRest],
      ),
    );
  }

  async *groups(buckets?: readonly number[]): AsyncGenerator<readonly LedgerGroup[]> {
    if (!(await this.#read(false, async () => true))) return;
    // Nearly every row is at rest: what else there is to say of a row is null then, and costs nothing.
    const text = `
      SELECT user_group_id, fingerprint, bucket, row_digest,
        CASE WHEN intent IS NULL AND unverified IS NULL AND missing_since IS NULL AND failure_count = 0 THEN NULL
        ELSE json_build_object(
          'underWay', intent IS NOT NULL, 'unverified', unverified, 'missingSince', missing_since,
          'fingerprint', failure_fingerprint, 'code', failure_code, 'message', failure_message,
          'count', failure_count, 'retryAt', retry_at)::text
        END
      FROM ${this.tables.groups} WHERE scope = $1 ${buckets ? "AND bucket = ANY ($2)" : ""}
      ORDER BY user_group_id`;
    try {
      const batches = this.database.stream<GroupColumns>(
        SNAPSHOT,
        text,
        buckets ? [this.scope, buckets] : [this.scope],
        BATCH,
      );
      for await (const rows of batches) yield rows.map(ledgerGroup);
    } catch (error) {
      throw databaseError("LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  }

  async confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>> {
    return this.#read(new Map<string, Group>(), async () => {
      const rows = await this.database.query<{ confirmed: string }>(
        `SELECT confirmed FROM ${this.tables.groups}
         WHERE scope = $1 AND user_group_id = ANY ($2) AND confirmed IS NOT NULL`,
        [this.scope, ids],
      );
      const groups = rows.map((row) => JSON.parse(row.confirmed) as Group);
      return new Map(groups.map((group) => [group.user_group_id, group]));
    });
  }

  async status(): Promise<LedgerStatus> {
    return this.#read(EMPTY, async () => ({
      groups: await this.#groupCounts(),
      failing: await this.#failing(),
      runs: await this.#runs(),
      lease: await this.#lease(),
      service: await this.service(),
    }));
  }

  async #groupCounts(): Promise<LedgerStatus["groups"]> {
    const [row] = await this.database.query<LedgerStatus["groups"]>(
      `SELECT count(*)::float8 AS total,
         (count(*) FILTER (WHERE intent IS NULL AND failure_count = 0 AND missing_since IS NULL))::float8 AS in_sync,
         (count(*) FILTER (WHERE intent IS NOT NULL))::float8 AS under_way,
         (count(*) FILTER (WHERE failure_count > 0))::float8 AS failing,
         (count(*) FILTER (WHERE missing_since IS NOT NULL))::float8 AS missing,
         (count(*) FILTER (WHERE unverified IS NOT NULL))::float8 AS unverified
       FROM ${this.tables.groups} WHERE scope = $1`,
      [this.scope],
    );
    return row ?? EMPTY.groups;
  }

  #failing(): Promise<FailingGroup[]> {
    return this.database.query<FailingGroup>(
      `SELECT user_group_id, failure_fingerprint AS fingerprint, failure_code AS code,
         failure_message AS message, failure_count AS count, retry_at AS "retryAt"
       FROM ${this.tables.groups} WHERE scope = $1 AND failure_count > 0
       ORDER BY failure_count DESC, user_group_id LIMIT ${SHOWN_FAILURES}`,
      [this.scope],
    );
  }

  async #runs(): Promise<RecordedRun[]> {
    const rows = await this.database.query<RunColumns>(
      `SELECT * FROM ${this.tables.runs} WHERE scope = $1 ORDER BY id DESC LIMIT ${SHOWN_RUNS}`,
      [this.scope],
    );
    return rows.map((row) => ({
      id: row.id,
      command: row.command,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      result: row.outcome && {
        outcome: row.outcome,
        counts: JSON.parse(row.counts) as Counts,
        requests: Number(row.requests),
        error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
      },
    }));
  }

  async #lease(): Promise<LeaseHolder | null> {
    const [row] = await this.database.query<LeaseHolder>(
      `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt"
       FROM ${this.tables.leases} WHERE scope = $1 AND expires_at > clock_timestamp()`,
      [this.scope],
    );
    return row ?? null;
  }

  async #read<T>(empty: T, read: () => Promise<T>): Promise<T> {
    try {
      const version = await ledgerVersion(this.database, this.tables);
      if (version === 0) return empty;
      if (version < LATEST_VERSION) throw outdated(version);
      return await read();
    } catch (error) {
      throw databaseError("LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  }
}

const outdated = (version: number): SyncError =>
  new SyncError("LEDGER_OUTDATED", `the ledger has version ${version}, and ${LATEST_VERSION} is needed`, {
    hint: "run `groupsync sync` once: it brings the ledger up to date",
  });

type GroupColumns = [
  user_group_id: string,
  fingerprint: string | null,
  bucket: number,
  row_digest: string | null,
  more: string | null,
];

/** The members of the JSON that `groups` selects. */
interface MoreOfGroup {
  readonly underWay: boolean;
  readonly unverified: LedgerGroup["unverified"];
  readonly missingSince: string | null;
  readonly fingerprint: string | null;
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly retryAt: string;
}

const AT_REST = { underWay: false, unverified: null, missingSince: null, failure: null };

function ledgerGroup([user_group_id, fingerprint, bucket, digest, text]: GroupColumns): LedgerGroup {
  const row = digest === null ? null : { bucket, digest };
  if (text === null) return { user_group_id, fingerprint, row, ...AT_REST };
  const more = JSON.parse(text) as MoreOfGroup;
  const { code, message, count } = more;
  return {
    user_group_id,
    fingerprint,
    row,
    underWay: more.underWay,
    unverified: more.unverified,
    missingSince: more.missingSince === null ? null : new Date(more.missingSince),
    failure:
      more.fingerprint === null
        ? null
        : { fingerprint: more.fingerprint, code, message, count, retryAt: new Date(more.retryAt) },
  };
}

interface RunColumns {
  readonly id: string;
  readonly command: string;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly outcome: RunOutcome | null;
  readonly counts: string;
  readonly requests: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
}
