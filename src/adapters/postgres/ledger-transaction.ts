import { type Apply, type Change, type Delete, intentOf } from "../../core/change.ts";
import type { Held } from "../../core/clearance.ts";
import type { Evidence } from "../../core/evidence.ts";
import type { HealthyTime } from "../../core/ledger-group.ts";
import type { LeftNote, SettledNote } from "../../core/note.ts";
import type {
  Begun,
  KnownGroup,
  KnownService,
  KnownToken,
  LedgerTransaction,
  RecordedOutcome,
  RotationResult,
  RunId,
  RunResult,
} from "../../ports/ledger.ts";
import type { Database, Queryable } from "./database.ts";
import { OutcomeWriter } from "./ledger-outcomes.ts";
import { RotationWriter } from "./ledger-rotations.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { storable } from "./storable.ts";

/** The history goes back so many runs: more than a week of one every ten minutes. */
const KEPT_RUNS = 1_500;

/** Removals are kept longer than any limit asks for: they are also the record of what was deleted when. */
const KEPT_REMOVALS = "90 days";
/** Which token was live when is asked after an incident, and that may be found late. */
const KEPT_TOKENS = "1 year";

const NOT_MISSING = "missing_since = NULL, missing_kind = NULL, missing_ms = NULL, missing_reads = NULL";

/**
 * Joins a group with what is said of it. The ids stand there twice, for the index: of a table that has just been
 * filled, the planner thinks that it is small, and would read all of it for the join.
 */
const SAME_ID = "g.scope = $1 AND g.user_group_id = ANY ($2) AND g.user_group_id = t.id";

/** The ledger's statements, inside a transaction that holds the lease. Ids and values go as whole columns. */
export class PostgresLedgerTransaction implements LedgerTransaction {
  /** For a token store in the same database, which writes in the same transaction. */
  readonly database: Database;
  readonly connection: Queryable;
  readonly #tables: LedgerTables;
  readonly #scope: string;
  readonly #outcomes: OutcomeWriter;
  readonly #rotations: RotationWriter;

  constructor(database: Database, connection: Queryable, tables: LedgerTables, scope: string) {
    this.database = database;
    this.connection = connection;
    this.#tables = tables;
    this.#scope = scope;
    this.#outcomes = new OutcomeWriter(connection, tables, scope);
    this.#rotations = new RotationWriter(connection, tables, scope);
  }

  async bindService({ baseUrl, teamId, updates }: KnownService): Promise<void> {
    await this.connection.query(
      `INSERT INTO ${this.#tables.services} (scope, base_url, team_id, updates) VALUES ($1, $2, $3, $4)
       ON CONFLICT (scope) DO UPDATE
       SET base_url = excluded.base_url, team_id = excluded.team_id, updates = excluded.updates`,
      [this.#scope, baseUrl, teamId, updates],
    );
    // A service that is seen to update has taken what could not be shown before.
    if (updates === true) {
      await this.connection.query(
        `UPDATE ${this.#tables.groups} SET unverified = NULL WHERE scope = $1 AND unverified IS NOT NULL`,
        [this.#scope],
      );
    }
  }

  async begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]> {
    const { rows } = await this.connection.query<KnownRow>(
      `SELECT user_group_id, service_name AS name, fingerprint, unverified, token_fingerprint AS "tokenFingerprint",
         data_source_id AS "dataSourceId", intent, CASE WHEN intent IS NOT NULL THEN intent_fingerprint END AS intended,
         failure_count AS failures
       FROM ${this.#tables.groups} WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, idsOf(changes)],
    );
    const applies = changes.filter((change) => change.kind !== "delete");
    const deletes = changes.filter((change) => change.kind === "delete");
    const known = new Map(rows.map(({ user_group_id, ...before }) => [user_group_id, before]));
    if (applies.length > 0) await this.#intendToApply(applies, known, now);
    if (deletes.length > 0) await this.#intendToDelete(deletes, now);
    return changes.map((change) => ({ change, before: known.get(change.user_group_id) ?? null }));
  }

  async #intendToApply(
    applies: readonly Apply[],
    known: ReadonlyMap<string, KnownGroup>,
    now: Date,
  ): Promise<void> {
    await this.connection.query(
      `INSERT INTO ${this.#tables.groups} AS g
         (scope, user_group_id, bucket, data_source_id, intent, intent_fingerprint, intent_at, created_at, updated_at)
       SELECT $1, t.*, $7, $7, $7 FROM unnest($2::text[], $3::smallint[], $4::text[], $5::text[], $6::text[]) AS t
       ON CONFLICT (scope, user_group_id) DO UPDATE
       SET intent = excluded.intent, intent_at = coalesce(g.intent_at, excluded.intent_at),
         intent_fingerprint = CASE WHEN g.intent IS NULL OR g.intent_fingerprint = excluded.intent_fingerprint
           THEN excluded.intent_fingerprint END,
         -- Of a group that was never made, only the newest counts.
         data_source_id = CASE WHEN g.fingerprint IS NULL AND g.intent IS NULL
           THEN excluded.data_source_id ELSE g.data_source_id END`,
      [
        this.#scope,
        idsOf(applies),
        applies.map((apply) => apply.row.bucket),
        applies.map((apply) => storable(apply.dataSourceId)),
        applies.map((apply) => intentOf(apply, known.get(apply.user_group_id)?.intent)),
        applies.map((apply) => apply.fingerprint),
        now,
      ],
    );
  }

  async #intendToDelete(deletes: readonly Delete[], now: Date): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} SET intent = 'delete', intent_at = coalesce(intent_at, $3)
       WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, idsOf(deletes), now],
    );
  }

  async withdraw(begun: readonly Begun[]): Promise<void> {
    const fresh = begun.filter(({ before }) => before === null);
    const known = begun.filter(({ before }) => before !== null);
    await this.connection.query(
      `DELETE FROM ${this.#tables.groups} WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, idsOf(fresh.map(({ change }) => change))],
    );
    await this.connection.query(
      `UPDATE ${this.#tables.groups} AS g
       SET intent = t.intent, intent_at = CASE WHEN t.intent IS NOT NULL THEN g.intent_at END,
         intent_fingerprint = t.intended
       FROM unnest($2::text[], $3::text[], $4::text[]) AS t (id, intent, intended)
       WHERE ${SAME_ID}`,
      [
        this.#scope,
        idsOf(known.map(({ change }) => change)),
        known.map(({ before }) => before?.intent ?? null),
        known.map(({ before }) => before?.intended ?? null),
      ],
    );
  }

  record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    return this.#outcomes.write(outcomes, now);
  }

  async markLeft(left: readonly LeftNote[], clock: HealthyTime, now: Date): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} AS g
       SET missing_since = $4, missing_kind = t.kind, missing_ms = $5, missing_reads = $6
       FROM unnest($2::text[], $3::text[]) AS t (id, kind)
       WHERE ${SAME_ID}`,
      [this.#scope, idsOf(left), left.map((note) => note.absence), now, clock.ms, clock.reads],
    );
  }

  async markReturned(ids: readonly string[]): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} SET ${NOT_MISSING}, held = nullif(held, 'delete')
       WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, ids],
    );
  }

  async markSettled(settled: readonly SettledNote[]): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} AS g
       SET bucket = t.bucket, row_digest = t.digest, data_source_id = t.data_source_id, ${NOT_MISSING}, held = NULL,
         failure_fingerprint = NULL, failure_code = NULL, failure_message = NULL, failure_count = 0, retry_at = NULL
       FROM unnest($2::text[], $3::smallint[], $4::bigint[], $5::text[]) AS t (id, bucket, digest, data_source_id)
       WHERE ${SAME_ID}`,
      [
        this.#scope,
        idsOf(settled),
        settled.map((note) => note.row.bucket),
        settled.map((note) => note.row.digest),
        settled.map((note) => storable(note.dataSourceId)),
      ],
    );
  }

  async forget(ids: readonly string[]): Promise<void> {
    // What was made, or may have been, is in no other inventory than this one.
    await this.connection.query(
      `DELETE FROM ${this.#tables.groups}
       WHERE scope = $1 AND user_group_id = ANY ($2) AND fingerprint IS NULL AND intent IS NULL`,
      [this.#scope, ids],
    );
  }

  /** Writes only what changes: as long as nobody approves them, the same ones are held run after run. */
  async markHeld(held: AsyncIterable<readonly Held[]>): Promise<void> {
    let last = "";
    for await (const batch of held) {
      const end = batch.at(-1)?.user_group_id;
      if (end === undefined) continue;
      await this.connection.query(
        `UPDATE ${this.#tables.groups} AS g SET held = t.kind
         FROM unnest($2::text[], $3::text[]) AS t (id, kind)
         WHERE ${SAME_ID} AND g.held IS DISTINCT FROM t.kind`,
        [this.#scope, idsOf(batch), batch.map(({ kind }) => kind)],
      );
      await this.connection.query(
        `UPDATE ${this.#tables.groups} SET held = NULL
         WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2 AND user_group_id < $3
           AND user_group_id <> ALL ($4)`,
        [this.#scope, last, end, idsOf(batch)],
      );
      last = end;
    }
    await this.connection.query(
      `UPDATE ${this.#tables.groups} SET held = NULL
       WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2`,
      [this.#scope, last],
    );
  }

  async keepEvidence({ source, clock, healthyAt, holding, approvals }: Evidence): Promise<void> {
    await this.connection.query(
      `INSERT INTO ${this.#tables.evidence} AS e
         (scope, source, healthy_ms, healthy_reads, healthy_at, holding, approvals)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (scope) DO UPDATE
       SET source = excluded.source, healthy_ms = excluded.healthy_ms, healthy_reads = excluded.healthy_reads,
         healthy_at = excluded.healthy_at, holding = excluded.holding, approvals = excluded.approvals`,
      [this.#scope, source, clock.ms, clock.reads, healthyAt, holding, approvals],
    );
  }

  beginRotation(id: string, now: Date): Promise<KnownToken | undefined> {
    return this.#rotations.begin(id, now);
  }

  withdrawRotation(id: string): Promise<void> {
    return this.#rotations.withdraw(id);
  }

  recordRotation(result: RotationResult, now: Date): Promise<void> {
    return this.#rotations.record(result, now);
  }

  async startRun(command: string, now: Date): Promise<RunId> {
    await this.connection.query(
      `DELETE FROM ${this.#tables.runs} WHERE scope = $1 AND id <=
         (SELECT id FROM ${this.#tables.runs} WHERE scope = $1 ORDER BY id DESC OFFSET ${KEPT_RUNS - 1} LIMIT 1)`,
      [this.#scope],
    );
    await this.connection.query(
      `DELETE FROM ${this.#tables.removals}
       WHERE scope = $1 AND removed_at < $2::timestamptz - interval '${KEPT_REMOVALS}'`,
      [this.#scope, now],
    );
    await this.connection.query(
      `DELETE FROM ${this.#tables.formerTokens}
       WHERE scope = $1 AND live_until < $2::timestamptz - interval '${KEPT_TOKENS}'`,
      [this.#scope, now],
    );
    const { rows } = await this.connection.query<{ id: string }>(
      `INSERT INTO ${this.#tables.runs} (scope, command, started_at) VALUES ($1, $2, $3) RETURNING id`,
      [this.#scope, command, now],
    );
    return rows[0]?.id ?? "";
  }

  async finishRun(run: RunId, { outcome, counts, requests, error }: RunResult, now: Date): Promise<void> {
    const message = error === null ? null : storable(error.message);
    await this.connection.query(
      `UPDATE ${this.#tables.runs}
       SET finished_at = $2, outcome = $3, counts = $4, requests = $5, error_code = $6, error_message = $7
       WHERE id = $1`,
      [run, now, outcome, JSON.stringify(counts), requests, error?.code ?? null, message],
    );
  }
}

interface KnownRow extends KnownGroup {
  readonly user_group_id: string;
}

const idsOf = (all: readonly { readonly user_group_id: string }[]): string[] =>
  all.map(({ user_group_id }) => user_group_id);
