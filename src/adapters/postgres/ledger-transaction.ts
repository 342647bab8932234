import type { Apply, SettledNote } from "../../core/decide.ts";
import { tokenFingerprint } from "../../core/group.ts";
import type {
  Begun,
  KnownService,
  LedgerTransaction,
  RecordedOutcome,
  RunId,
  RunResult,
} from "../../ports/ledger.ts";
import type { Database, Queryable } from "./database.ts";
import type { LedgerTables } from "./ledger-schema.ts";

/** The history goes back so many runs: more than a week of one every ten minutes. */
const KEPT_RUNS = 1_500;

/** What was taken of a group whose state in the service is not what was asked for. */
const UNKNOWN_STATE = "unknown";

/** The ledger's statements, inside a transaction that holds the lease. Ids and values go as whole columns. */
export class PostgresLedgerTransaction implements LedgerTransaction {
  /** For a token store in the same database, which writes in the same transaction. */
  readonly database: Database;
  readonly connection: Queryable;
  readonly #tables: LedgerTables;
  readonly #scope: string;

  constructor(database: Database, connection: Queryable, tables: LedgerTables, scope: string) {
    this.database = database;
    this.connection = connection;
    this.#tables = tables;
    this.#scope = scope;
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

  async begin(changes: readonly Apply[], now: Date): Promise<readonly Begun[]> {
    const ids = changes.map((change) => change.user_group_id);
    const { rows } = await this.connection.query<KnownRow>(
      `SELECT user_group_id, service_name, failure_count
       FROM ${this.#tables.groups} WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, ids],
    );
    await this.connection.query(
      `INSERT INTO ${this.#tables.groups} AS g
         (scope, user_group_id, bucket, intent, intent_at, created_at, updated_at)
       SELECT $1, id, bucket, 'apply', $4, $4, $4 FROM unnest($2::text[], $3::smallint[]) AS t (id, bucket)
       ON CONFLICT (scope, user_group_id) DO UPDATE
       SET intent = excluded.intent, intent_at = coalesce(g.intent_at, excluded.intent_at)`,
      [this.#scope, ids, changes.map((change) => change.row.bucket), now],
    );
    const before = new Map(rows.map((row) => [row.user_group_id, row]));
    return changes.map((apply) => {
      const row = before.get(apply.user_group_id);
      return {
        apply,
        known: row !== undefined,
        confirmedName: row?.service_name ?? null,
        failures: row?.failure_count ?? 0,
      };
    });
  }

  async withdraw(begun: readonly Begun[]): Promise<void> {
    const fresh = begun.filter((entry) => !entry.known);
    const known = begun.filter((entry) => entry.known && !entry.apply.underWay);
    await this.connection.query(
      `DELETE FROM ${this.#tables.groups} WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, fresh.map((entry) => entry.apply.user_group_id)],
    );
    await this.connection.query(
      `UPDATE ${this.#tables.groups} SET intent = NULL, intent_at = NULL
       WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, known.map((entry) => entry.apply.user_group_id)],
    );
  }

  async record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    const rows = JSON.stringify(outcomes.map(outcomeRow));
    // The rows are there since `begin`. An upsert finds each by the primary key; for an update that joins them,
    // the planner takes a table that has just been filled for a small one, and reads all of it every time.
    await this.connection.query(
      `INSERT INTO ${this.#tables.groups} AS g
         (scope, user_group_id, bucket, row_digest, fingerprint, confirmed, service_name, token_fingerprint,
          unverified, intent, failure_fingerprint, failure_code, failure_message, retry_at, created_at, updated_at)
       SELECT $1, t.*, $3, $3
       FROM json_to_recordset($2) AS t (
         id text, bucket smallint, row_digest bigint, fingerprint text, confirmed text, service_name text,
         token_fingerprint text, unverified text, intent text, failure_fingerprint text, failure_code text,
         failure_message text, retry_at timestamptz)
       ON CONFLICT (scope, user_group_id) DO UPDATE
       SET bucket = excluded.bucket,
           row_digest = coalesce(excluded.row_digest, g.row_digest),
           fingerprint = coalesce(
             excluded.fingerprint, g.fingerprint, CASE WHEN excluded.service_name IS NOT NULL THEN $4 END),
           confirmed = coalesce(excluded.confirmed, g.confirmed),
           service_name = coalesce(excluded.service_name, g.service_name),
           token_fingerprint = coalesce(excluded.token_fingerprint, g.token_fingerprint),
           unverified = CASE WHEN excluded.confirmed IS NULL THEN g.unverified ELSE excluded.unverified END,
           intent = CASE WHEN excluded.intent IS NOT NULL THEN g.intent END,
           intent_at = CASE WHEN excluded.intent IS NOT NULL THEN g.intent_at END,
           missing_since = NULL,
           failure_fingerprint = excluded.failure_fingerprint,
           failure_code = excluded.failure_code,
           failure_message = excluded.failure_message,
           failure_count = CASE WHEN excluded.failure_code IS NULL THEN 0 ELSE g.failure_count + 1 END,
           retry_at = excluded.retry_at,
           updated_at = excluded.updated_at`,
      [this.#scope, rows, now, UNKNOWN_STATE],
    );
  }

  async markMissing(ids: readonly string[], now: Date): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} SET missing_since = $3 WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, ids, now],
    );
  }

  async markReturned(ids: readonly string[]): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} SET missing_since = NULL WHERE scope = $1 AND user_group_id = ANY ($2)`,
      [this.#scope, ids],
    );
  }

  async markSettled(settled: readonly SettledNote[]): Promise<void> {
    await this.connection.query(
      `UPDATE ${this.#tables.groups} AS g
       SET bucket = t.bucket, row_digest = t.digest, missing_since = NULL, failure_fingerprint = NULL,
         failure_code = NULL, failure_message = NULL, failure_count = 0, retry_at = NULL
       FROM unnest($2::text[], $3::smallint[], $4::bigint[]) AS t (id, bucket, digest)
       WHERE g.scope = $1 AND g.user_group_id = t.id`,
      [
        this.#scope,
        settled.map((note) => note.user_group_id),
        settled.map((note) => note.row.bucket),
        settled.map((note) => note.row.digest),
      ],
    );
  }

  async startRun(command: string, now: Date): Promise<RunId> {
    await this.connection.query(
      `DELETE FROM ${this.#tables.runs} WHERE scope = $1 AND id <=
         (SELECT id FROM ${this.#tables.runs} WHERE scope = $1 ORDER BY id DESC OFFSET ${KEPT_RUNS - 1} LIMIT 1)`,
      [this.#scope],
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

interface KnownRow {
  readonly user_group_id: string;
  readonly service_name: string | null;
  readonly failure_count: number;
}

/** Nulls leave the column as it is, except for the failure, which is replaced or cleared. */
function outcomeRow({ outcome, retryAt }: RecordedOutcome) {
  const { user_group_id: id, fingerprint, group, row } = outcome.apply;
  const columns = { id, bucket: row.bucket };
  if (outcome.kind === "failed") {
    const intent = outcome.mayHaveHappened ? "apply" : null;
    return { ...columns, intent, ...failureColumns(fingerprint, outcome.failure, retryAt) };
  }
  const taken = {
    ...columns,
    service_name: storable(outcome.serviceName),
    token_fingerprint: tokenFingerprint(outcome.token),
  };
  if (outcome.kind === "not_updated") {
    return { ...taken, ...failureColumns(fingerprint, outcome.failure, retryAt) };
  }
  const call = outcome.kind === "updated" ? "updated" : "adopted";
  const unverified = outcome.unverified ? call : null;
  return { ...taken, fingerprint, confirmed: JSON.stringify(group), unverified, row_digest: row.digest };
}

const failureColumns = (
  fingerprint: string,
  { code, message }: { readonly code: string; readonly message: string },
  retryAt: Date | undefined,
) => ({
  failure_fingerprint: fingerprint,
  failure_code: code,
  failure_message: storable(message),
  retry_at: retryAt?.toISOString() ?? null,
});

/** PostgreSQL's text has no NUL and no half of a surrogate pair; what came from outside may have both. */
const storable = (text: string): string => Buffer.from(text.replaceAll("\0", "\ufffd")).toString();
