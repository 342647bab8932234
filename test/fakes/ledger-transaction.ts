import { type Change, fingerprintOf, intentOf, isForToken } from "../../src/core/change.ts";
import type { Held } from "../../src/core/clearance.ts";
import type { Evidence } from "../../src/core/evidence.ts";
import { tokenFingerprint } from "../../src/core/group.ts";
import { compareIds } from "../../src/core/id.ts";
import { type GroupFailure, type HealthyTime, UNKNOWN_STATE } from "../../src/core/ledger-group.ts";
import type { LeftNote, SettledNote } from "../../src/core/note.ts";
import type { Deleted, Failure, Outcome } from "../../src/core/outcome.ts";
import { ROTATED } from "../../src/core/rotation.ts";
import type { TokenTable } from "../../src/core/token-tables.ts";
import type {
  Begun,
  KnownGroup,
  KnownService,
  LedgerTransaction,
  RecordedOutcome,
  RunId,
  RunResult,
  StoredResult,
} from "../../src/ports/ledger.ts";
import type { KnownToken, RotationResult } from "../../src/ports/rotation.ts";
import type { Step } from "./instance.ts";
import { type LedgerRow, type LedgerState, NEW_ROW } from "./ledger-state.ts";

const DAY = 24 * 3_600_000;
const KEPT_RUNS = 90 * DAY;
const LEAST_RUNS = 10;
const KEPT_REMOVALS = 90 * DAY;
const KEPT_TOKENS = 365 * DAY;

/** The tenant is there: nothing waits to be deleted. */
const PRESENT = { absence: null, held: null };
const NO_INTENT = { intent: null, intentAt: null };
const NOT_FAILING = { failure: null, failingSince: null };

/** Reads what is committed, and keeps its own changes back until it is committed itself. */
export class InMemoryLedgerTransaction implements LedgerTransaction {
  readonly #state: LedgerState;
  readonly #step: Step;
  readonly assertOpen: () => void;
  readonly #changes: (() => void)[] = [];

  constructor(state: LedgerState, step: Step, assertOpen = () => {}) {
    this.#state = state;
    this.#step = step;
    this.assertOpen = assertOpen;
  }

  /** For a store in the same database: its change happens when this commits, or not at all. */
  enlist(change: () => void): void {
    this.#changes.push(change);
  }

  commit(): void {
    for (const change of this.#changes) change();
  }

  async bindService(service: KnownService): Promise<void> {
    await this.#step({ when: "before", call: "bindService" });
    this.enlist(() => {
      this.#state.service = service;
      if (service.updates !== true) return;
      for (const id of this.#state.rows.keys()) this.#change(id, { unverified: null });
    });
  }

  async begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]> {
    await this.#step({ when: "before", call: "begin" });
    for (const change of changes) this.enlist(() => this.#intend(change, now));
    return changes.map((change) => {
      const row = this.#state.rows.get(change.user_group_id);
      return { change, before: row ? knownGroup(row) : null };
    });
  }

  async withdraw(begun: readonly Begun[]): Promise<void> {
    await this.#step({ when: "before", call: "withdraw" });
    for (const { change, before } of begun) {
      this.enlist(() => {
        const id = change.user_group_id;
        if (before?.intent === null) this.#change(id, { ...NO_INTENT, intended: before.intended });
        else if (before) this.#change(id, { intent: before.intent, intended: before.intended });
        else this.#state.rows.delete(id);
      });
    }
  }

  async record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    await this.#step({ when: "before", call: "record" });
    for (const recorded of outcomes) this.enlist(() => this.#record(recorded, now));
  }

  async markLeft(left: readonly LeftNote[], clock: HealthyTime, now: Date): Promise<void> {
    await this.#step({ when: "before", call: "markLeft" });
    for (const { user_group_id, absence: kind } of left) {
      this.enlist(() => this.#change(user_group_id, { absence: { kind, since: now, at: clock } }));
    }
  }

  async markReturned(ids: readonly string[]): Promise<void> {
    await this.#step({ when: "before", call: "markReturned" });
    for (const id of ids) {
      this.enlist(() => {
        this.#change(id, { absence: null });
        if (this.#state.rows.get(id)?.held === "delete") this.#change(id, { held: null });
      });
    }
  }

  async markSettled(settled: readonly SettledNote[]): Promise<void> {
    await this.#step({ when: "before", call: "markSettled" });
    for (const { user_group_id, row, dataSourceId } of settled) {
      const { bucket } = row;
      this.enlist(() =>
        this.#change(user_group_id, {
          row,
          bucket,
          dataSourceId,
          absence: null,
          held: null,
          ...NOT_FAILING,
        }),
      );
    }
  }

  async forget(ids: readonly string[]): Promise<void> {
    await this.#step({ when: "before", call: "forget" });
    this.enlist(() => {
      const { rows } = this.#state;
      for (const id of ids) {
        const row = rows.get(id);
        if (row?.fingerprint === null && row.intent === null) rows.delete(id);
      }
    });
  }

  async markHeld(held: AsyncIterable<readonly Held[]>): Promise<void> {
    await this.#step({ when: "before", call: "markHeld" });
    const all: Held[] = [];
    for await (const batch of held) all.push(...batch);
    const sorted = all.toSorted((a, b) => compareIds(a.user_group_id, b.user_group_id));
    if (all.some((one, index) => one !== sorted[index])) throw new Error("not in the order of the ids");
    this.enlist(() => {
      for (const id of this.#state.rows.keys()) this.#change(id, { held: null });
      for (const { user_group_id, kind } of all) this.#change(user_group_id, { held: kind });
    });
  }

  async keepEvidence(evidence: Evidence): Promise<void> {
    await this.#step({ when: "before", call: "keepEvidence" });
    this.enlist(() => {
      this.#state.evidence = evidence;
    });
  }

  async recordTokenTables(tables: readonly TokenTable[]): Promise<void> {
    await this.#step({ when: "before", call: "recordTokenTables" });
    this.enlist(() => {
      this.#state.tokenTables = tables;
    });
  }

  async recordTokenPlaces(places: readonly string[] | null): Promise<void> {
    await this.#step({ when: "before", call: "recordTokenPlaces" });
    this.enlist(() => {
      this.#state.tokenPlaces = places;
    });
  }

  async beginRotation(id: string, now: Date): Promise<KnownToken | undefined> {
    await this.#step({ when: "before", call: "beginRotation", id });
    const row = this.#state.rows.get(id);
    if (row === undefined) return undefined;
    const { tokenFingerprint, intent, failure } = row;
    if (intent === null) this.enlist(() => this.#change(id, { intent: "rotate", intentAt: now }));
    return { tokenFingerprint, intent, failures: failure?.count ?? 0 };
  }

  async withdrawRotation(id: string): Promise<void> {
    await this.#step({ when: "before", call: "withdrawRotation", id });
    this.enlist(() => {
      if (this.#state.rows.get(id)?.intent === "rotate") this.#change(id, NO_INTENT);
    });
  }

  async recordRotation(result: RotationResult, now: Date): Promise<void> {
    const { user_group_id: id, tokenFingerprint, sharedToken, failure, isOpen } = result;
    await this.#step({ when: "before", call: "recordRotation", id });
    this.enlist(() => {
      const row = this.#state.rows.get(id);
      if (row === undefined) return;
      const isOurs = row.failure === null || row.failure.fingerprint === ROTATED;
      const failed = failure ? failedOnce(row, { ...failure, fingerprint: ROTATED }, now) : NOT_FAILING;
      if (tokenFingerprint !== null) this.#retoken(id, tokenFingerprint, now);
      if (tokenFingerprint !== null) this.#change(id, { sharedToken: null });
      else if (sharedToken !== undefined) this.#change(id, { sharedToken });
      this.#change(id, { ...(isOpen ? {} : NO_INTENT), ...(isOurs ? failed : {}) });
    });
  }

  async recordStored(results: readonly StoredResult[], now: Date): Promise<void> {
    await this.#step({ when: "before", call: "recordStored" });
    for (const { user_group_id: id, failure } of results) {
      this.enlist(() => {
        const row = this.#state.rows.get(id);
        if (row === undefined) return;
        this.#change(id, { copies: failure && { ...failure, since: row.copies?.since ?? now } });
      });
    }
  }

  async startRun(command: string, now: Date): Promise<RunId> {
    await this.#step({ when: "before", call: "startRun" });
    const id = String(++this.#state.runsStarted);
    const run = { id, command, startedAt: now, finishedAt: null, result: null };
    this.enlist(() => {
      const { runs, removals, formerTokens } = this.#state;
      const age = (time: Date): number => now.getTime() - time.getTime();
      const kept = runs.filter(({ startedAt }, index) => index < LEAST_RUNS || age(startedAt) <= KEPT_RUNS);
      runs.splice(0, runs.length, run, ...kept);
      this.#state.removals = removals.filter(({ at }) => age(at) <= KEPT_REMOVALS);
      this.#state.formerTokens = formerTokens.filter(({ until }) => age(until) <= KEPT_TOKENS);
    });
    return id;
  }

  async finishRun(id: RunId, result: RunResult, now: Date): Promise<void> {
    await this.#step({ when: "before", call: "finishRun" });
    this.enlist(() => {
      const { runs } = this.#state;
      const index = runs.findIndex((run) => run.id === id);
      const run = runs[index];
      if (run) runs[index] = { ...run, finishedAt: now, result: structuredClone(result) };
    });
  }

  async discardRun(id: RunId): Promise<void> {
    await this.#step({ when: "before", call: "discardRun" });
    this.enlist(() => {
      const { runs } = this.#state;
      runs.splice(0, runs.length, ...runs.filter((run) => run.id !== id));
    });
  }

  #intend(change: Change, now: Date): void {
    const { rows } = this.#state;
    const id = change.user_group_id;
    const intent = intentOf(change, rows.get(id)?.intent);
    const intentAt = rows.get(id)?.intentAt ?? now;
    if (change.kind === "delete") {
      this.#change(id, { intent: rows.get(id)?.intent === "remove" ? "remove" : intent, intentAt });
      return;
    }
    const row = rows.get(id) ?? { ...NEW_ROW, bucket: change.row.bucket };
    const wasNeverMade = row.fingerprint === null && row.intent === null;
    const meansTheSame = row.intent === null || row.intended === change.fingerprint;
    rows.set(id, {
      ...row,
      intent,
      intentAt,
      intended: meansTheSame ? change.fingerprint : null,
      ...(wasNeverMade ? { dataSourceId: change.dataSourceId } : {}),
    });
  }

  #record(recorded: RecordedOutcome, at: Date): void {
    const { outcome } = recorded;
    const { user_group_id } = outcome.change;
    const { rows, removals } = this.#state;
    if (outcome.kind === "replaced") removals.push({ kind: "replace", user_group_id, at });
    if (outcome.kind === "deleted") {
      const known = rows.get(user_group_id);
      if (known?.intent !== "remove") removals.push({ kind: "delete", user_group_id, at });
      this.#retoken(user_group_id, null, at);
      const { notRemoved, retryAt = new Date(0) } = recorded;
      rows.delete(user_group_id);
      if (known === undefined || notRemoved === undefined) return;
      const { bucket, absence, intentAt } = known;
      const failure = { ...notRemoved, fingerprint: fingerprintOf(outcome.change), retryAt };
      const left = { bucket, absence, intent: "remove", intentAt: intentAt ?? at } as const;
      rows.set(user_group_id, { ...NEW_ROW, ...left, ...failedOnce(known, failure, at) });
      return;
    }
    if (outcome.kind !== "failed") this.#retoken(user_group_id, tokenFingerprint(outcome.token), at);
    const row = rows.get(user_group_id);
    if (row) rows.set(user_group_id, { ...row, ...changesBy({ ...recorded, outcome }, row, at) });
  }

  /** Null: its last token dies. */
  #retoken(id: string, fingerprint: string | null, now: Date): void {
    const row = this.#state.rows.get(id);
    if (row === undefined || row.tokenFingerprint === fingerprint) return;
    if (row.tokenFingerprint !== null) {
      const { tokenFingerprint: former, tokenSince: since } = row;
      this.#state.formerTokens.push({ user_group_id: id, fingerprint: former, since, until: now });
    }
    this.#change(id, { tokenFingerprint: fingerprint, tokenSince: now });
  }

  #change(id: string, change: Partial<LedgerRow>): void {
    const row = this.#state.rows.get(id);
    if (row) this.#state.rows.set(id, { ...row, ...change });
  }
}

const knownGroup = ({
  serviceName: name,
  fingerprint,
  unverified,
  tokenFingerprint,
  dataSourceId,
  intent,
  intended,
  failure,
  copies,
}: LedgerRow): KnownGroup => ({
  name,
  fingerprint,
  unverified,
  tokenFingerprint,
  dataSourceId,
  intent,
  intended: intent === null ? null : intended,
  failures: failure?.count ?? 0,
  copiesFailures: copies?.count ?? 0,
});

const failedOnce = (
  row: LedgerRow,
  failure: Omit<GroupFailure, "count">,
  at: Date,
): Pick<LedgerRow, "failure" | "failingSince"> => ({
  failure: { ...failure, count: (row.failure?.count ?? 0) + 1 },
  failingSince: row.failingSince ?? at,
});

/** What an outcome makes of a group's row; of one that was deleted, nothing is left. */
function changesBy(
  {
    outcome,
    retryAt = new Date(0),
    notEverywhere,
    sharedToken,
  }: RecordedOutcome & { outcome: Exclude<Outcome, Deleted> },
  row: LedgerRow,
  at: Date,
): Partial<LedgerRow> {
  const failed = ({ code, message }: Failure): Partial<LedgerRow> =>
    failedOnce(row, { code, message, fingerprint: fingerprintOf(outcome.change), retryAt }, at);
  const lacking = ({ code, message }: Failure): Partial<LedgerRow> => {
    const { count = 0, since = at } = row.copies ?? {};
    return { copies: { code, message, count: count + 1, retryAt, since } };
  };
  if (outcome.kind === "failed") {
    const { change, failure, mayHaveHappened } = outcome;
    return {
      ...(isForToken(change) ? lacking(failure) : failed(failure)),
      ...(sharedToken === undefined ? {} : { sharedToken }),
      ...(mayHaveHappened ? {} : NO_INTENT),
      ...(change.kind === "delete" ? {} : PRESENT),
    };
  }
  const { change, serviceName } = outcome;
  const answered = { serviceName, sharedToken: null, copies: null, ...NO_INTENT, ...PRESENT };
  if (outcome.kind === "not_updated") {
    // There, but perhaps in a state that nobody has asked for.
    return { ...answered, ...failed(outcome.failure), fingerprint: row.fingerprint ?? UNKNOWN_STATE };
  }
  const stored = notEverywhere ? lacking(notEverywhere) : {};
  // It was as it should be before; and if a change of it has failed, that stands.
  if (isForToken(change)) return { ...answered, ...stored };
  return {
    ...answered,
    ...stored,
    ...NOT_FAILING,
    fingerprint: change.fingerprint,
    confirmed: change.group,
    row: change.row,
    bucket: change.row.bucket,
    dataSourceId: change.dataSourceId,
    unverified: outcome.unverified ? (outcome.kind === "updated" ? "updated" : "adopted") : null,
  };
}
