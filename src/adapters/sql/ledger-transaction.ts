import { type Apply, type Change, type Delete, intentOf } from "../../core/change.ts";
import type { Held } from "../../core/clearance.ts";
import type { Evidence } from "../../core/evidence.ts";
import type { HealthyTime } from "../../core/ledger-group.ts";
import type { LeftNote, SettledNote } from "../../core/note.ts";
import type { TokenTable } from "../../core/token-tables.ts";
import type {
  Begun,
  KnownGroup,
  KnownService,
  LedgerTransaction,
  RecordedOutcome,
  RunId,
  RunResult,
  StoredResult,
} from "../../ports/ledger.ts";
import type { KnownToken, RotationResult } from "../../ports/rotation.ts";
import type { InTransaction } from "./connections.ts";
import type { Database } from "./database.ts";
import { NoteWriter } from "./ledger-notes.ts";
import { recordOutcomes } from "./ledger-outcomes.ts";
import { type LedgerPlace, ofIds, updateGroups } from "./ledger-place.ts";
import { beginRotation, recordRotation, withdrawRotation } from "./ledger-rotations.ts";
import { discardRun, finishRun, startRun } from "./ledger-runs.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { storable } from "./storable.ts";
import { recordTokenPlaces, recordTokenTables } from "./token-places.ts";
import { recordStored } from "./vouched-tokens.ts";

const INTENT_COLUMNS = {
  id: "id",
  bucket: "integer",
  data_source_id: "text",
  intent: "text",
  fingerprint: "text",
} as const;
const WITHDRAWN_COLUMNS = { id: "id", intent: "text", intended: "text" } as const;
const EVIDENCE_COLUMNS = [
  "source",
  "source_table",
  "healthy_ms",
  "healthy_reads",
  "healthy_at",
  "held_code",
  "approvals",
];

/** The ledger's statements, inside a transaction that holds the lease. Ids and values go as whole columns. */
export class SqlLedgerTransaction implements LedgerTransaction {
  /** For a token store in the same database, which writes in the same transaction. */
  readonly database: Database;
  readonly connection: InTransaction;
  /** This transaction is not made again if the database gives it up. */
  readonly isLastAttempt: boolean;
  readonly #place: LedgerPlace;
  readonly #notes: NoteWriter;
  readonly #historyMs: number;

  constructor(
    database: Database,
    connection: InTransaction,
    tables: LedgerTables,
    scope: string,
    historyMs: number,
    isLastAttempt: boolean,
  ) {
    this.database = database;
    this.connection = connection;
    this.isLastAttempt = isLastAttempt;
    this.#place = { dialect: database.dialect, connection, tables, scope };
    this.#notes = new NoteWriter(this.#place);
    this.#historyMs = historyMs;
  }

  assertOpen(): void {
    this.connection.assertOpen();
  }

  async bindService({ baseUrl, teamId, updates }: KnownService): Promise<void> {
    await this.#place.connection.query(
      this.#place.dialect.upsert({
        into: this.#place.tables.services,
        columns: ["scope", "base_url", "team_id", "updates"],
        from: "VALUES ($1, $2, $3, $4)",
        key: ["scope"],
        set: (is) => ({ base_url: is("base_url"), team_id: is("team_id"), updates: is("updates") }),
      }),
      [this.#place.scope, baseUrl, teamId, updates],
    );
    // A service that is seen to update has taken what could not be shown before.
    if (updates === true) {
      await this.#place.connection.query(
        `UPDATE ${this.#place.tables.groups} SET unverified = NULL WHERE scope = $1 AND unverified IS NOT NULL`,
        [this.#place.scope],
      );
    }
  }

  async begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]> {
    const rows = await this.#place.connection.query<KnownRow>(
      `SELECT user_group_id, service_name AS "name", fingerprint, unverified, token_fingerprint AS "tokenFingerprint",
         data_source_id AS "dataSourceId", intent, CASE WHEN intent IS NOT NULL THEN intent_fingerprint END AS intended,
         failure_count AS failures, copies_count AS "copiesFailures"
       FROM ${this.#place.tables.groups} WHERE ${ofIds(this.#place)}`,
      [this.#place.scope, idsOf(changes)],
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
    const rows = applies.map((apply) => ({
      id: apply.user_group_id,
      bucket: apply.row.bucket,
      data_source_id: storable(apply.dataSourceId),
      intent: intentOf(apply, known.get(apply.user_group_id)?.intent),
      fingerprint: apply.fingerprint,
    }));
    await this.#place.connection.query(
      this.#place.dialect.upsert({
        into: this.#place.tables.groups,
        columns: [
          ...["scope", "user_group_id", "bucket", "data_source_id", "intent", "intent_fingerprint"],
          ...["intent_at", "created_at", "updated_at"],
        ],
        from: `SELECT $1, t.*, $3, $3, $3 FROM ${this.#place.dialect.rows("$2", INTENT_COLUMNS)}`,
        key: ["scope", "user_group_id"],
        set: (is, was) => ({
          intent_at: `coalesce(${was("intent_at")}, ${is("intent_at")})`,
          intent_fingerprint: `CASE
            WHEN ${was("intent")} IS NULL OR ${was("intent_fingerprint")} = ${is("intent_fingerprint")}
            THEN ${is("intent_fingerprint")} END`,
          // Of a group that was never made, only the newest counts.
          data_source_id: `CASE WHEN ${was("fingerprint")} IS NULL AND ${was("intent")} IS NULL
            THEN ${is("data_source_id")} ELSE ${was("data_source_id")} END`,
          intent: is("intent"),
        }),
      }),
      [this.#place.scope, JSON.stringify(rows), now],
    );
  }

  async #intendToDelete(deletes: readonly Delete[], now: Date): Promise<void> {
    await this.#place.connection.query(
      `UPDATE ${this.#place.tables.groups}
       SET intent = CASE WHEN intent = 'remove' THEN intent ELSE 'delete' END, intent_at = coalesce(intent_at, $3)
       WHERE ${ofIds(this.#place)}`,
      [this.#place.scope, idsOf(deletes), now],
    );
  }

  async withdraw(begun: readonly Begun[]): Promise<void> {
    const fresh = begun.filter(({ before }) => before === null);
    const known = begun.filter(({ before }) => before !== null);
    if (fresh.length > 0) {
      await this.#place.connection.query(
        `DELETE FROM ${this.#place.tables.groups} WHERE ${ofIds(this.#place)}`,
        [this.#place.scope, idsOf(fresh.map(({ change }) => change))],
      );
    }
    const rows = known.map(({ change, before }) => ({
      id: change.user_group_id,
      intent: before?.intent ?? null,
      intended: before?.intended ?? null,
    }));
    await updateGroups(this.#place, rows, WITHDRAWN_COLUMNS, {
      intent_at: "CASE WHEN t.intent IS NOT NULL THEN g.intent_at END",
      intent: "t.intent",
      intent_fingerprint: "t.intended",
    });
  }

  record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    return recordOutcomes(this.#place, outcomes, now);
  }

  markLeft(left: readonly LeftNote[], clock: HealthyTime, now: Date): Promise<void> {
    return this.#notes.markLeft(left, clock, now);
  }

  markReturned(ids: readonly string[]): Promise<void> {
    return this.#notes.markReturned(ids);
  }

  markSettled(settled: readonly SettledNote[]): Promise<void> {
    return this.#notes.markSettled(settled);
  }

  forget(ids: readonly string[]): Promise<void> {
    return this.#notes.forget(ids);
  }

  markHeld(held: AsyncIterable<readonly Held[]>): Promise<void> {
    return this.#notes.markHeld(held);
  }

  async keepEvidence({ source, table, clock, healthyAt, heldCode, approvals }: Evidence): Promise<void> {
    await this.#place.connection.query(
      this.#place.dialect.upsert({
        into: this.#place.tables.evidence,
        columns: ["scope", ...EVIDENCE_COLUMNS],
        from: "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        key: ["scope"],
        set: (is) => Object.fromEntries(EVIDENCE_COLUMNS.map((column) => [column, is(column)])),
      }),
      [this.#place.scope, source, table, clock.ms, clock.reads, healthyAt, heldCode, approvals],
    );
  }

  beginRotation(id: string, now: Date): Promise<KnownToken | undefined> {
    return beginRotation(this.#place, id, now);
  }

  withdrawRotation(id: string): Promise<void> {
    return withdrawRotation(this.#place, id);
  }

  recordRotation(result: RotationResult, now: Date): Promise<void> {
    return recordRotation(this.#place, result, now);
  }

  recordStored(results: readonly StoredResult[], now: Date): Promise<void> {
    return recordStored(this.#place, results, now);
  }

  recordTokenPlaces(places: readonly string[] | null): Promise<void> {
    return recordTokenPlaces(this.#place, places);
  }

  recordTokenTables(tables: readonly TokenTable[]): Promise<void> {
    return recordTokenTables(this.#place, tables);
  }

  startRun(command: string, now: Date): Promise<RunId> {
    return startRun(this.#place, command, now, this.#historyMs);
  }

  finishRun(run: RunId, result: RunResult, now: Date): Promise<void> {
    return finishRun(this.#place, run, result, now);
  }

  discardRun(run: RunId): Promise<void> {
    return discardRun(this.#place, run);
  }
}

interface KnownRow extends KnownGroup {
  readonly user_group_id: string;
}

const idsOf = (all: readonly { readonly user_group_id: string }[]): string[] =>
  all.map(({ user_group_id }) => user_group_id);
