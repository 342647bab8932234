import type { Apply, SettledNote } from "../../src/core/decide.ts";
import { tokenFingerprint } from "../../src/core/group.ts";
import type { Failure } from "../../src/core/outcome.ts";
import type {
  Begun,
  KnownService,
  LedgerTransaction,
  RecordedOutcome,
  RunId,
  RunResult,
} from "../../src/ports/ledger.ts";
import type { Step } from "./instance.ts";
import { type LedgerRow, type LedgerState, NEW_ROW } from "./ledger-state.ts";

/** Reads what is committed, and keeps its own changes back until it is committed itself. */
export class InMemoryLedgerTransaction implements LedgerTransaction {
  readonly #state: LedgerState;
  readonly #step: Step;
  readonly #changes: (() => void)[] = [];

  constructor(state: LedgerState, step: Step) {
    this.#state = state;
    this.#step = step;
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

  async begin(changes: readonly Apply[]): Promise<readonly Begun[]> {
    await this.#step({ when: "before", call: "begin" });
    return changes.map((apply) => {
      const { user_group_id: id, fingerprint, row: digest } = apply;
      const row = this.#state.rows.get(id);
      this.enlist(() => {
        this.#state.rows.set(id, {
          ...(this.#state.rows.get(id) ?? { ...NEW_ROW, bucket: digest.bucket }),
          intent: fingerprint,
        });
      });
      return {
        apply,
        known: row !== undefined,
        confirmedName: row?.serviceName ?? null,
        failures: row?.failure?.count ?? 0,
      };
    });
  }

  async withdraw(begun: readonly Begun[]): Promise<void> {
    await this.#step({ when: "before", call: "withdraw" });
    for (const { apply, known } of begun) {
      this.enlist(() => {
        if (!known) this.#state.rows.delete(apply.user_group_id);
        else if (!apply.underWay) this.#change(apply.user_group_id, { intent: null });
      });
    }
  }

  async record(outcomes: readonly RecordedOutcome[]): Promise<void> {
    await this.#step({ when: "before", call: "record" });
    for (const recorded of outcomes) {
      const id = recorded.outcome.apply.user_group_id;
      this.enlist(() => {
        const row = this.#state.rows.get(id);
        if (row) this.#state.rows.set(id, { ...row, ...changesBy(recorded, row), missingSince: null });
      });
    }
  }

  async markMissing(ids: readonly string[], now: Date): Promise<void> {
    await this.#step({ when: "before", call: "markMissing" });
    this.enlist(() => {
      for (const id of ids) this.#change(id, { missingSince: now });
    });
  }

  async markReturned(ids: readonly string[]): Promise<void> {
    await this.#step({ when: "before", call: "markReturned" });
    this.enlist(() => {
      for (const id of ids) this.#change(id, { missingSince: null });
    });
  }

  async markSettled(settled: readonly SettledNote[]): Promise<void> {
    await this.#step({ when: "before", call: "markSettled" });
    this.enlist(() => {
      for (const { user_group_id, row } of settled) {
        this.#change(user_group_id, { failure: null, missingSince: null, row, bucket: row.bucket });
      }
    });
  }

  async startRun(command: string, now: Date): Promise<RunId> {
    await this.#step({ when: "before", call: "startRun" });
    const id = String(++this.#state.runsStarted);
    const run = { id, command, startedAt: now, finishedAt: null, result: null };
    this.enlist(() => this.#state.runs.unshift(run));
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

  #change(id: string, change: Partial<LedgerRow>): void {
    const row = this.#state.rows.get(id);
    if (row) this.#state.rows.set(id, { ...row, ...change });
  }
}

function changesBy({ outcome, retryAt }: RecordedOutcome, row: LedgerRow): Partial<LedgerRow> {
  const { fingerprint, group, row: digest } = outcome.apply;
  const failed = (failure: Failure): Partial<LedgerRow> => {
    const count = (row.failure?.count ?? 0) + 1;
    return { failure: { ...failure, fingerprint, count, retryAt: retryAt ?? new Date(0) } };
  };
  if (outcome.kind === "failed") {
    return { ...failed(outcome.failure), intent: outcome.mayHaveHappened ? row.intent : null };
  }
  const { serviceName, token } = outcome;
  const answered = { serviceName, tokenFingerprint: tokenFingerprint(token), intent: null };
  if (outcome.kind === "not_updated") {
    // There, but perhaps in a state that nobody has asked for.
    return { ...answered, ...failed(outcome.failure), fingerprint: row.fingerprint ?? "unknown" };
  }
  return {
    ...answered,
    fingerprint,
    confirmed: group,
    row: digest,
    bucket: digest.bucket,
    unverified: outcome.unverified ? (outcome.kind === "updated" ? "updated" : "adopted") : null,
    failure: null,
  };
}
