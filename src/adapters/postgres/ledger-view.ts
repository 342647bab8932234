import { SyncError } from "../../core/errors.ts";
import { type Evidence, NO_EVIDENCE } from "../../core/evidence.ts";
import type { Group } from "../../core/group.ts";
import type { HealthyTime, LedgerGroup } from "../../core/ledger-group.ts";
import { ROTATED, type RotationCandidate } from "../../core/rotation.ts";
import type {
  BucketOptions,
  KnownService,
  LedgerBucket,
  LedgerStatus,
  LedgerView,
  RotatableOptions,
} from "../../ports/ledger.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import { GROUP_COLUMNS, type GroupColumns, ledgerGroup } from "./ledger-group-rows.ts";
import { LATEST_VERSION, ledgerVersion } from "./ledger-schema.ts";
import { NO_STATUS, StatusReader } from "./ledger-status.ts";
import { type LedgerLocation, type LedgerTables, ledgerTables } from "./ledger-tables.ts";

const BATCH = 5_000;
const SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const ROTATABLE =
  "scope = $1 AND token_since <= $2 AND missing_kind IS NULL AND (intent IS NULL OR intent = 'rotate')";
const NO_SERVICE: KnownService = { baseUrl: null, teamId: null, updates: null };

/** Reads the ledger and changes nothing, not even to create it. */
export class PostgresLedgerView implements LedgerView {
  readonly database: Database;
  protected readonly tables: LedgerTables;
  protected readonly scope: string;

  constructor(database: Database, location: LedgerLocation, scope: string) {
    this.database = database;
    this.tables = ledgerTables(location);
    this.scope = scope;
  }

  async service(): Promise<KnownService> {
    return this.#read(NO_SERVICE, async () => {
      const [row] = await this.database.query<{
        base_url: string;
        team_id: string | null;
        updates: boolean | null;
      }>(`SELECT base_url, team_id, updates FROM ${this.tables.services} WHERE scope = $1`, [this.scope]);
      if (!row) return NO_SERVICE;
      const teamId = row.team_id === null ? null : Number(row.team_id);
      return { baseUrl: row.base_url, teamId, updates: row.updates };
    });
  }

  async evidence(): Promise<Evidence> {
    return this.#read(NO_EVIDENCE, async () => {
      const [row] = await this.database.query<EvidenceColumns>(
        `SELECT source, healthy_ms::float8 AS ms, healthy_reads::float8 AS reads, healthy_at AS "healthyAt", holding,
           approvals
         FROM ${this.tables.evidence} WHERE scope = $1`,
        [this.scope],
      );
      if (!row) return NO_EVIDENCE;
      const { ms, reads, ...evidence } = row;
      return { ...evidence, clock: { ms, reads } };
    });
  }

  async removalsSince(time: Date): Promise<number> {
    return this.#read(0, async () => {
      const [row] = await this.database.query<{ count: number }>(
        `SELECT count(*)::float8 AS count FROM ${this.tables.removals} WHERE scope = $1 AND removed_at >= $2`,
        [this.scope, time],
      );
      return row?.count ?? 0;
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
             AND missing_kind IS NULL AND failure_count = 0 AND (unverified IS DISTINCT FROM 'updated' OR $2) AS at_rest
           FROM ${this.tables.groups} WHERE scope = $1) AS g
         GROUP BY bucket`,
        [this.scope, unverifiedAtRest],
      ),
    );
  }

  async *groups(buckets?: readonly number[]): AsyncGenerator<readonly LedgerGroup[]> {
    if (!(await this.#read(false, async () => true))) return;
    const text = `
      SELECT ${GROUP_COLUMNS} FROM ${this.tables.groups}
      WHERE scope = $1 ${buckets ? "AND bucket = ANY ($2)" : ""}
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

  async rotatable({ until, limit, after }: RotatableOptions): Promise<readonly RotationCandidate[]> {
    return this.#read([], async () => {
      const rows = await this.database.query<CandidateColumns>(
        `SELECT user_group_id, token_since AS "tokenSince",
           CASE WHEN failure_fingerprint = '${ROTATED}' THEN failure_code END AS code, failure_message AS message,
           failure_count AS count, retry_at AS "retryAt"
         FROM ${this.tables.groups}
         WHERE ${ROTATABLE} AND (token_since, user_group_id) > ($4, $5)
         ORDER BY token_since, user_group_id LIMIT $3`,
        [this.scope, until, limit, after?.tokenSince ?? "-infinity", after?.user_group_id ?? ""],
      );
      return rows.map(({ user_group_id, tokenSince, code, message, count, retryAt }) => ({
        user_group_id,
        tokenSince,
        failure: code === null ? null : { fingerprint: ROTATED, code, message, count, retryAt },
      }));
    });
  }

  async rotatableCount(until: Date): Promise<number> {
    return this.#read(0, async () => {
      const [row] = await this.database.query<{ count: number }>(
        `SELECT count(*)::float8 AS count FROM ${this.tables.groups} WHERE ${ROTATABLE}`,
        [this.scope, until],
      );
      return row?.count ?? 0;
    });
  }

  async status(): Promise<LedgerStatus> {
    const reader = new StatusReader(this.database, this.tables, this.scope);
    const status = await this.#read(NO_STATUS, () => reader.read());
    return { ...status, service: await this.service() };
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

interface EvidenceColumns extends Omit<Evidence, "clock">, HealthyTime {}

const outdated = (version: number): SyncError =>
  new SyncError("LEDGER_OUTDATED", `the ledger has version ${version}, and ${LATEST_VERSION} is needed`, {
    hint: "run `groupsync sync` once: it brings the ledger up to date",
  });

interface CandidateColumns {
  readonly user_group_id: string;
  readonly tokenSince: Date;
  readonly code: string | null;
  readonly message: string;
  readonly count: number;
  readonly retryAt: Date;
}
