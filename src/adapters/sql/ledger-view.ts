import { SyncError } from "../../core/errors.ts";
import { type Evidence, NO_EVIDENCE } from "../../core/evidence.ts";
import type { Group } from "../../core/group.ts";
import type { LedgerGroup } from "../../core/ledger-group.ts";
import { ROTATED, type RotationCandidate } from "../../core/rotation.ts";
import type { TokenTable } from "../../core/token-tables.ts";
import type {
  BucketOptions,
  KnownService,
  LedgerBucket,
  LedgerStatus,
  LedgerView,
  RecordedRun,
  VouchedOptions,
  VouchedToken,
} from "../../ports/ledger.ts";
import type { ExistingOptions, RotatableOptions } from "../../ports/rotation.ts";
import type { Database } from "./database.ts";
import { existingCount, existingGroups } from "./existing-groups.ts";
import { databaseError } from "./failures.ts";
import { type GroupColumns, groupColumns, ledgerGroup } from "./ledger-group-rows.ts";
import { inspectLedger, LATEST_VERSION, ledgerVersion, shownTables } from "./ledger-schema.ts";
import { NO_STATUS, StatusReader } from "./ledger-status.ts";
import { type LedgerLocation, type LedgerTables, ledgerTables, ownedTables } from "./ledger-tables.ts";
import { sharedTokens } from "./shared-tokens.ts";
import { insistOnOwner } from "./table-owner.ts";
import { once } from "./table-place.ts";
import { tokenPlaces, tokenTables } from "./token-places.ts";
import { vouchedTokens } from "./vouched-tokens.ts";

const BATCH = 5_000;
const ROTATABLE =
  "scope = $1 AND token_since <= $2 AND missing_kind IS NULL AND (intent IS NULL OR intent = 'rotate')";
const NO_SERVICE: KnownService = { baseUrl: null, teamId: null, updates: null };

/** Reads the ledger and changes nothing, not even to create it. */
export class SqlLedgerView implements LedgerView {
  readonly database: Database;
  /** Asked for once: whatever appears in a schema of the user's path later, they stay these. */
  protected readonly tables: () => Promise<LedgerTables>;
  protected readonly scope: string;
  readonly #location: LedgerLocation;
  /** Undefined where the tables' names need none, or there is none to be had. */
  readonly #schema: () => Promise<string | undefined>;

  constructor(database: Database, location: LedgerLocation, scope: string) {
    this.database = database;
    this.#location = location;
    const { dialect } = database;
    const isFound = (schema: string | undefined): boolean => schema !== undefined;
    this.#schema = once(() => dialect.ledgerSchema(database, location), isFound);
    const ownSchema = once(() => this.insistOnOwner().then(this.#schema), isFound);
    this.tables = async () => ledgerTables(dialect, { ...location, schema: await ownSchema() });
    this.scope = scope;
  }

  /** Rejects with CONFIG_TABLE_OWNER. */
  protected async insistOnOwner(): Promise<void> {
    const schema = await this.#schema();
    if (schema === undefined) return;
    await insistOnOwner(this.database, { schema, ...ownedTables(this.#location) });
  }

  ownTables(): Promise<string | null> {
    return shownTables(this.database, this.#location);
  }

  async id(): Promise<string | null> {
    return this.#read(null, async (tables) => {
      const [row] = await this.database.query<{ id: string }>(`SELECT id FROM ${tables.identity}`);
      return row?.id ?? null;
    });
  }

  async inspect(): Promise<void> {
    try {
      await inspectLedger(this.database, await this.tables(), this.#location);
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot open the ledger", error);
    }
  }

  async service(): Promise<KnownService> {
    return this.#read(NO_SERVICE, async (tables) => {
      const [row] = await this.database.query<{
        base_url: string;
        team_id: string | null;
        updates: boolean | null;
      }>(`SELECT base_url, team_id, updates FROM ${tables.services} WHERE scope = $1`, [this.scope]);
      if (!row) return NO_SERVICE;
      const teamId = row.team_id === null ? null : Number(row.team_id);
      return { baseUrl: row.base_url, teamId, updates: row.updates };
    });
  }

  async evidence(): Promise<Evidence> {
    return this.#read(NO_EVIDENCE, async (tables) => {
      const [row] = await this.database.query<EvidenceColumns>(
        `SELECT source, source_table AS "table", healthy_ms AS "ms", healthy_reads AS "reads", healthy_at AS "healthyAt", held_code AS "heldCode", approvals
         FROM ${tables.evidence} WHERE scope = $1`,
        [this.scope],
      );
      if (!row) return NO_EVIDENCE;
      const { ms, reads, ...evidence } = row;
      return { ...evidence, clock: { ms: Number(ms), reads: Number(reads) } };
    });
  }

  async removalsSince(time: Date): Promise<number> {
    return this.#read(0, async (tables) => {
      const [row] = await this.database.query<{ count: string }>(
        `SELECT count(*) AS "count" FROM ${tables.removals} WHERE scope = $1 AND removed_at >= $2`,
        [this.scope, time],
      );
      return Number(row?.count ?? 0);
    });
  }

  async missingSince(time: Date): Promise<number> {
    return this.#read(0, async (tables) => {
      const [row] = await this.database.query<{ count: string }>(
        `SELECT count(*) AS "count" FROM ${tables.groups}
         WHERE scope = $1 AND missing_since >= $2 AND held IS NULL`,
        [this.scope, time],
      );
      return Number(row?.count ?? 0);
    });
  }

  async buckets({ unverifiedAtRest }: BucketOptions): Promise<readonly LedgerBucket[]> {
    return this.#read([], async (tables) => {
      const rows = await this.database.query<BucketColumns>(
        `SELECT bucket, count(CASE WHEN at_rest THEN 1 END) AS "rows",
           coalesce(sum(CASE WHEN at_rest THEN row_digest END), 0) AS "sum",
           count(CASE WHEN NOT at_rest THEN 1 END) AS "restless"
         FROM (
           SELECT bucket, row_digest, fingerprint IS NOT NULL AND row_digest IS NOT NULL AND intent IS NULL
             AND missing_kind IS NULL AND failure_count = 0
             AND (unverified IS NULL OR unverified <> 'updated' OR $2) AS at_rest
           FROM ${tables.groups} WHERE scope = $1) AS g
         GROUP BY bucket`,
        [this.scope, unverifiedAtRest],
      );
      return rows.map(({ bucket, rows, sum, restless }) => {
        return { bucket, rows: Number(rows), sum, restless: Number(restless) };
      });
    });
  }

  async *groups(buckets?: readonly number[]): AsyncGenerator<readonly LedgerGroup[]> {
    const tables = await this.#read(undefined, async (there) => there);
    if (!tables) return;
    const { dialect } = this.database;
    const text = `
      SELECT ${groupColumns(dialect)} FROM ${tables.groups}
      WHERE scope = $1 ${buckets ? `AND ${dialect.isOneOf("bucket", "$2")}` : ""}
      ORDER BY user_group_id`;
    try {
      const batches = this.database.stream<GroupColumns>(
        dialect.begin.snapshot,
        text,
        buckets ? [this.scope, buckets] : [this.scope],
        BATCH,
      );
      for await (const rows of batches) yield rows.map(ledgerGroup);
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  }

  async confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>> {
    return this.#read(new Map<string, Group>(), async (tables) => {
      const rows = await this.database.query<{ confirmed: string }>(
        `SELECT confirmed FROM ${tables.groups}
         WHERE scope = $1 AND ${this.database.dialect.isOneOf("user_group_id", "$2")} AND confirmed IS NOT NULL`,
        [this.scope, ids],
      );
      const groups = rows.map((row) => JSON.parse(row.confirmed) as Group);
      return new Map(groups.map((group) => [group.user_group_id, group]));
    });
  }

  async existing(options: ExistingOptions): Promise<readonly string[]> {
    return this.#read([], (tables) => existingGroups(this.database, tables, this.scope, options));
  }

  async existingCount(which: Pick<ExistingOptions, "liveSince" | "of">): Promise<number> {
    return this.#read(0, (tables) => existingCount(this.database, tables, this.scope, which));
  }

  async rotatable({ until, limit, after }: RotatableOptions): Promise<readonly RotationCandidate[]> {
    return this.#read([], async (tables) => {
      const rows = await this.database.query<CandidateColumns>(
        `SELECT user_group_id, token_since AS "tokenSince",
           CASE WHEN failure_fingerprint = '${ROTATED}' THEN failure_code END AS "code", failure_message AS "message",
           failure_count AS "count", retry_at AS "retryAt"
         FROM ${tables.groups}
         WHERE ${ROTATABLE} ${after ? "AND token_since >= $4 AND (token_since > $4 OR user_group_id > $5)" : ""}
         ORDER BY token_since, user_group_id LIMIT $3`,
        [this.scope, until, limit, ...(after ? [after.tokenSince, after.user_group_id] : [])],
      );
      return rows.map(({ user_group_id, tokenSince, code, message, count, retryAt }) => ({
        user_group_id,
        tokenSince,
        failure: code === null ? null : { fingerprint: ROTATED, code, message, count, retryAt },
      }));
    });
  }

  async rotatableCount(until: Date): Promise<number> {
    return this.#read(0, async (tables) => {
      const [row] = await this.database.query<{ count: string }>(
        `SELECT count(*) AS "count" FROM ${tables.groups} WHERE ${ROTATABLE}`,
        [this.scope, until],
      );
      return Number(row?.count ?? 0);
    });
  }

  async vouchedTokens(options: VouchedOptions): Promise<readonly VouchedToken[]> {
    return this.#read([], (tables) => vouchedTokens(this.database, tables, this.scope, options));
  }

  async sharedTokens(
    tokens: ReadonlyMap<string, string>,
    of: "recorded" | "all",
  ): Promise<ReadonlySet<string>> {
    return this.#read(new Set<string>(), (tables) =>
      sharedTokens(this.database, tables, this.scope, tokens, of),
    );
  }

  async tokenPlaces(): Promise<readonly string[] | null> {
    return this.#read(null, (tables) => tokenPlaces(this.database, tables, this.scope));
  }

  async tokenTables(): Promise<readonly TokenTable[]> {
    return this.#read([], (tables) => tokenTables(this.database, tables, this.scope));
  }

  async status(): Promise<LedgerStatus> {
    const status = await this.#read(NO_STATUS, (tables) => this.#reader(tables).read());
    return { ...status, service: await this.service() };
  }

  async history(since: Date, limit: number): Promise<readonly RecordedRun[]> {
    return this.#read([], (tables) => this.#reader(tables).history(since, limit));
  }

  async tokensLiveSince(times: readonly Date[]): Promise<readonly number[]> {
    const none = times.map(() => 0);
    return this.#read(none, (tables) => this.#reader(tables).tokensLiveSince(times));
  }

  #reader(tables: LedgerTables): StatusReader {
    return new StatusReader(this.database, tables, this.scope);
  }

  async #read<T>(empty: T, read: (tables: LedgerTables) => Promise<T>): Promise<T> {
    try {
      const tables = await this.tables();
      const version = await ledgerVersion(this.database, tables);
      if (version === 0) return empty;
      if (version < LATEST_VERSION) throw outdated(version);
      return await read(tables);
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  }
}

interface EvidenceColumns extends Omit<Evidence, "clock"> {
  readonly ms: string;
  readonly reads: string;
}

interface BucketColumns {
  readonly bucket: number;
  readonly rows: string;
  readonly sum: string;
  readonly restless: string;
}

const outdated = (version: number): SyncError =>
  new SyncError(
    "LEDGER_OUTDATED",
    `the ledger has version ${version}, and this groupsync works with version ${LATEST_VERSION}`,
    {
      hint: "`groupsync sync`, or the daemon's next run, migrates it first; nothing in it is lost, and an older groupsync refuses it from then on. Until then `plan` and `status` of the older groupsync show what is in it, and what a sync would do",
    },
  );

interface CandidateColumns {
  readonly user_group_id: string;
  readonly tokenSince: Date;
  readonly code: string | null;
  readonly message: string;
  readonly count: number;
  readonly retryAt: Date;
}
