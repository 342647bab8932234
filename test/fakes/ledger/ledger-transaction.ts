import { type Deleted, isFoundGone, type Outcome } from "../../../src/core/apply/outcome.ts";
import type { HeldRemoval } from "../../../src/core/deletion/removals.ts";
import type {
  FailureCounts,
  RecordedFailure,
  RetryableFailure,
} from "../../../src/core/failure/group-failures.ts";
import type { Failure } from "../../../src/core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import type { Rejection } from "../../../src/core/group/rejections.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import {
  type Change,
  fingerprintOf,
  intentOf,
  isForToken,
  isRestored,
} from "../../../src/core/plan/change.ts";
import type { KnownGroup, RecordedOutcome } from "../../../src/ports/ledger/groups.ts";
import type { LedgerTransaction } from "../../../src/ports/ledger/ledger.ts";
import type { Step } from "../instance.ts";
import { type LedgerRow, LedgerState, NEW_ROW, type RowFailures, stepping } from "./ledger-state.ts";

const DAY = 24 * 3_600_000;
const KEPT_RUNS = 90 * DAY;
const LEAST_RUNS = 10;
const KEPT_REMOVALS = 90 * DAY;
const KEPT_TOKENS = 365 * DAY;

/** The tenant is there: nothing waits to be deleted. */
const PRESENT = { absence: null, held: null };
const NO_INTENT = { intent: null, intentAt: null };

/** The changes of one transaction. Nobody sees them before it commits. */
export class LedgerChanges {
  readonly state: LedgerState;
  readonly #changes: (() => void)[] = [];

  constructor(state: LedgerState) {
    this.state = state;
  }

  /** For a store in the same database: its change happens when this commits, or not at all. */
  enlist(change: () => void): void {
    this.#changes.push(change);
  }

  commit(): void {
    for (const change of this.#changes) change();
  }

  /** Null: the group's last token dies. */
  retoken(id: string, fingerprint: string | null, now: Date): void {
    const row = this.state.rows.get(id);
    if (row === undefined || row.tokenFingerprint === fingerprint) return;
    if (row.tokenFingerprint !== null) {
      const { tokenFingerprint: former, tokenSince: since } = row;
      this.state.formerTokens.push({ user_group_id: id, fingerprint: former, since, until: now });
    }
    this.change(id, { tokenFingerprint: fingerprint, tokenSince: now });
    this.fails(id, { rotation: null });
  }

  fails(id: string, kinds: Partial<RowFailures>): void {
    const row = this.state.rows.get(id);
    if (row) this.change(id, { failures: { ...row.failures, ...kinds } });
  }

  change(id: string, change: Partial<LedgerRow>): void {
    const row = this.state.rows.get(id);
    if (row) this.state.rows.set(id, { ...row, ...change });
  }
}

const openChanges = new WeakMap<LedgerTransaction, LedgerChanges>();

/** A transaction that collects its writes in `changes`. */
export function inMemoryTransaction(
  changes: LedgerChanges,
  step: Step = async () => {},
  assertOpen: () => void = () => {},
): LedgerTransaction {
  const transaction = { ...stepping(writes(changes), step), assertOpen };
  openChanges.set(transaction, changes);
  return transaction;
}

const writes = (ledger: LedgerChanges): Omit<LedgerTransaction, "assertOpen"> => ({
  async forgetScope() {
    ledger.enlist(() => ledger.state.forgetScope());
  },

  async bindService({ baseUrl, teamId, updates, isProbed }) {
    ledger.enlist(() => {
      ledger.state.service = { ...ledger.state.service, baseUrl, teamId, updates, isProbed };
      if (updates !== true) return;
      for (const [id, { unverified }] of ledger.state.rows)
        if (unverified === "updated") ledger.change(id, { unverified: null });
    });
  },

  async recordAnswer(at) {
    ledger.enlist(() => {
      const { service } = ledger.state;
      if (service.baseUrl !== null) ledger.state.service = { ...service, answeredAt: at };
    });
  },

  async beginCanary(canary) {
    ledger.enlist(() => {
      ledger.state.canary = canary;
    });
  },

  async forgetCanary() {
    ledger.enlist(() => {
      ledger.state.canary = null;
    });
  },

  async begin(changes, now) {
    for (const change of changes) ledger.enlist(() => intend(ledger, change, now));
    return changes.map((change) => {
      const row = ledger.state.rows.get(change.user_group_id);
      return { change, before: row ? knownGroup(row) : null };
    });
  },

  async withdraw(begun) {
    for (const { change, before } of begun) {
      ledger.enlist(() => {
        const id = change.user_group_id;
        if (before?.intent === null) ledger.change(id, { ...NO_INTENT, intended: before.intended });
        else if (before) ledger.change(id, { intent: before.intent, intended: before.intended });
        else ledger.state.rows.delete(id);
      });
    }
  },

  async record(outcomes, now) {
    for (const recorded of outcomes) ledger.enlist(() => record(ledger, recorded, now));
  },

  async markSettled(settled) {
    for (const { user_group_id, row, dataSourceId } of settled) {
      const { bucket } = row;
      ledger.enlist(() => {
        ledger.change(user_group_id, {
          row,
          bucket,
          dataSourceId,
          absence: null,
          held: null,
        });
        ledger.fails(user_group_id, { change: null });
      });
    }
  },

  async forget(ids) {
    ledger.enlist(() => {
      const { rows } = ledger.state;
      for (const id of ids) {
        const row = rows.get(id);
        if (row?.fingerprint === null && row.intent === null) rows.delete(id);
      }
    });
  },

  async forgetFailedChanges(ids) {
    for (const id of ids) ledger.enlist(() => ledger.fails(id, { change: null }));
  },

  async markLeft(left, clock, now) {
    for (const { user_group_id, absence: kind } of left) {
      ledger.enlist(() => {
        const known = ledger.state.rows.get(user_group_id)?.absence;
        const since = known?.kind === kind ? known.since : now;
        ledger.change(user_group_id, { absence: { kind, since, at: clock } });
      });
    }
  },

  async markReturned(ids) {
    for (const id of ids) {
      ledger.enlist(() => {
        ledger.change(id, { absence: null });
        if (ledger.state.rows.get(id)?.held === "delete") ledger.change(id, { held: null });
      });
    }
  },

  async markHeld(held) {
    const all: HeldRemoval[] = [];
    for await (const batch of held) all.push(...batch);
    const sorted = all.toSorted((a, b) => compareIds(a.user_group_id, b.user_group_id));
    if (all.some((one, index) => one !== sorted[index])) throw new Error("not in the order of the ids");
    ledger.enlist(() => {
      for (const id of ledger.state.rows.keys()) ledger.change(id, { held: null });
      for (const { user_group_id, kind } of all) ledger.change(user_group_id, { held: kind });
    });
  },

  async recordReadHistory(history) {
    ledger.enlist(() => {
      ledger.state.history = history;
    });
  },

  async beginRotation(id, now) {
    const row = ledger.state.rows.get(id);
    if (row === undefined) return undefined;
    const { tokenFingerprint, intent, failures } = row;
    if (intent === null) ledger.enlist(() => ledger.change(id, { intent: "rotate", intentAt: now }));
    return { tokenFingerprint, intent, failures: failureCounts(failures) };
  },

  async withdrawRotation(id) {
    ledger.enlist(() => {
      if (ledger.state.rows.get(id)?.intent === "rotate") ledger.change(id, NO_INTENT);
    });
  },

  async recordRotation(result, now) {
    const { user_group_id: id, tokenFingerprint, sharedToken, failure, isOpen } = result;
    ledger.enlist(() => {
      const row = ledger.state.rows.get(id);
      if (row === undefined) return;
      if (tokenFingerprint !== null) {
        ledger.retoken(id, tokenFingerprint, now);
        ledger.fails(id, { storing: null });
      }
      if (failure) ledger.fails(id, { rotation: failedOnce(row.failures.rotation, failure, now) });
      if (tokenFingerprint !== null) ledger.change(id, { sharedToken: null });
      else if (sharedToken !== undefined) ledger.change(id, { sharedToken });
      if (!isOpen) ledger.change(id, NO_INTENT);
    });
  },

  async approveRefresh(now) {
    ledger.enlist(() => {
      ledger.state.refreshApprovedAt = now;
      const { foundGone } = ledger.state;
      const untilNow = foundGone.map((gone) => (gone.at > now ? { ...gone, at: now } : gone));
      foundGone.splice(0, foundGone.length, ...untilNow);
    });
  },

  async recordStored(results, now) {
    for (const { user_group_id: id, failure, sharedToken } of results) {
      ledger.enlist(() => {
        const since = ledger.state.rows.get(id)?.failures.storing?.since ?? now;
        ledger.fails(id, { storing: failure && { ...failure, since } });
        if (sharedToken !== undefined) ledger.change(id, { sharedToken });
      });
    }
  },

  async recordTokenTables(tables) {
    ledger.enlist(() => {
      ledger.state.tokenTables = tables;
    });
  },

  async recordTokensVerified(now) {
    ledger.enlist(() => {
      ledger.state.tokensVerifiedAt = now;
    });
  },

  async recordTokenDestinations(places) {
    ledger.enlist(() => {
      ledger.state.tokenDestinations = places;
    });
  },

  async startRun(command, now) {
    const id = String(++ledger.state.runsStarted);
    const run = { id, command, startedAt: now, finishedAt: null, result: null };
    ledger.enlist(() => void ledger.state.runs.unshift(run));
    return id;
  },

  async finishRun(id, result, now) {
    ledger.enlist(() => {
      const { runs } = ledger.state;
      const index = runs.findIndex((run) => run.id === id);
      const run = runs[index];
      if (run) runs[index] = { ...run, finishedAt: now, result: structuredClone(result) };
      const { removals, formerTokens } = ledger.state;
      const age = (time: Date): number => now.getTime() - time.getTime();
      const kept = runs.filter(({ startedAt }, index) => index < LEAST_RUNS || age(startedAt) <= KEPT_RUNS);
      runs.splice(0, runs.length, ...kept);
      ledger.state.removals = removals.filter(({ at }) => age(at) <= KEPT_REMOVALS);
      ledger.state.formerTokens = formerTokens.filter(({ until }) => age(until) <= KEPT_TOKENS);
    });
  },

  async discardRun(id) {
    ledger.enlist(() => {
      const { runs } = ledger.state;
      runs.splice(0, runs.length, ...runs.filter((run) => run.id !== id));
    });
  },

  async recordRejections(changed, gone, now) {
    ledger.enlist(() => {
      const isSame = (a: Key) => (b: Key) => a.user_group_id === b.user_group_id && a.code === b.code;
      const left = ledger.state.rejections.filter((one) => !gone.some(isSame(one)));
      const since = (one: Rejection): Date => left.find(isSame(one))?.since ?? now;
      ledger.state.rejections = [
        ...left.filter((one) => !changed.some(isSame(one))),
        ...changed.map((one) => ({ ...one, since: since(one) })),
      ].sort(
        (a, b) => compareIds(a.user_group_id ?? "", b.user_group_id ?? "") || compareIds(a.code, b.code),
      );
    });
  },
});

const failureCounts = ({ change, rotation, storing }: RowFailures): FailureCounts => ({
  change: change?.count ?? 0,
  rotation: rotation?.count ?? 0,
  storing: storing?.count ?? 0,
});

const failedOnce = (
  before: RecordedFailure | null,
  { code, message, retryAt }: Omit<RetryableFailure, "count">,
  at: Date,
): RecordedFailure => ({
  code,
  message,
  count: (before?.count ?? 0) + 1,
  retryAt,
  since: before?.since ?? at,
});

function intend(ledger: LedgerChanges, change: Change, now: Date): void {
  const { rows } = ledger.state;
  const id = change.user_group_id;
  const intent = intentOf(change, rows.get(id)?.intent);
  const intentAt = rows.get(id)?.intentAt ?? now;
  if (change.kind === "delete") {
    ledger.change(id, { intent: rows.get(id)?.intent === "remove" ? "remove" : intent, intentAt });
    return;
  }
  const row = rows.get(id) ?? { ...NEW_ROW, bucket: change.row.bucket, createdAt: now, changedAt: now };
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

function record(ledger: LedgerChanges, recorded: RecordedOutcome, at: Date): void {
  const { outcome } = recorded;
  const { user_group_id } = outcome.change;
  const { rows, removals, foundGone } = ledger.state;
  if (isFoundGone(outcome)) foundGone.push({ user_group_id, at });
  if (outcome.kind === "replaced" || (outcome.kind === "not_updated" && outcome.wasRemoved))
    removals.push({ kind: "replace", user_group_id, at });
  if (outcome.kind === "deleted") {
    const known = rows.get(user_group_id);
    if (known?.intent !== "remove") removals.push({ kind: "delete", user_group_id, at });
    ledger.retoken(user_group_id, null, at);
    const { notRemoved, retryAt = new Date(0) } = recorded;
    rows.delete(user_group_id);
    if (known === undefined || notRemoved === undefined) return;
    const { bucket, absence, intentAt, createdAt } = known;
    const change = {
      ...failedOnce(known.failures.change, { ...notRemoved, retryAt }, at),
      fingerprint: fingerprintOf(outcome.change),
    };
    const left = { bucket, absence, intent: "remove", intentAt: intentAt ?? at } as const;
    const times = { createdAt, changedAt: at };
    rows.set(user_group_id, { ...NEW_ROW, ...left, ...times, failures: { ...NEW_ROW.failures, change } });
    return;
  }
  if (outcome.kind !== "failed") ledger.retoken(user_group_id, tokenFingerprint(outcome.token), at);
  const row = rows.get(user_group_id);
  if (row)
    rows.set(user_group_id, { ...row, ...changesBy({ ...recorded, outcome }, row, at), changedAt: at });
}

const knownGroup = ({
  serviceName: name,
  confirmed,
  fingerprint,
  unverified,
  tokenFingerprint,
  dataSourceId,
  intent,
  intended,
  failures,
}: LedgerRow): KnownGroup => ({
  name,
  acceptedName: confirmed?.name ?? null,
  fingerprint,
  unverified,
  tokenFingerprint,
  dataSourceId,
  intent,
  intended: intent === null ? null : intended,
  failures: failureCounts(failures),
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
  const fingerprint = fingerprintOf(outcome.change);
  const failed = (failure: Failure): RowFailures["change"] => ({
    ...failedOnce(row.failures.change, { ...failure, retryAt }, at),
    fingerprint,
  });
  const lacking = (failure: Failure): RecordedFailure =>
    failedOnce(row.failures.storing, { ...failure, retryAt }, at);
  const { failures } = row;
  if (outcome.kind === "failed") {
    const { change, failure, mayHaveHappened } = outcome;
    return {
      failures: isForToken(change)
        ? { ...failures, storing: lacking(failure) }
        : { ...failures, change: failed(failure) },
      ...(sharedToken === undefined ? {} : { sharedToken }),
      ...(mayHaveHappened ? {} : NO_INTENT),
      ...(change.kind === "delete" || isForToken(change) ? {} : PRESENT),
    };
  }
  const { change, serviceName } = outcome;
  // Who asks for a token compares no name, and hasn't looked whether the tenant is there.
  const presence = isForToken(change) ? {} : PRESENT;
  const verified = isRestored(change) ? {} : { verifiedAt: at };
  const answered = { serviceName, sharedToken: null, ...NO_INTENT, ...presence, ...verified };
  const storing = notEverywhere ? lacking(notEverywhere) : null;
  if (outcome.kind === "not_updated") {
    // There, but perhaps in a state that nobody has asked for.
    return {
      ...answered,
      failures: { ...failures, storing, change: failed(outcome.failure) },
      fingerprint: outcome.isUnknownState ? UNKNOWN_STATE : (row.fingerprint ?? UNKNOWN_STATE),
    };
  }
  // It was as it should be before; and if a change of it has failed, that stands.
  if (isForToken(change)) return { ...answered, failures: { ...failures, storing } };
  return {
    ...answered,
    failures: { ...failures, storing, change: null },
    fingerprint: change.fingerprint,
    confirmed: change.group,
    row: change.row,
    bucket: change.row.bucket,
    dataSourceId: change.dataSourceId,
    unverified: outcome.unverified ? (outcome.kind === "updated" ? "updated" : "adopted") : null,
  };
}

type Key = Pick<Rejection, "user_group_id" | "code">;

/** A transaction that nobody commits. */
export const someTransaction = (): LedgerTransaction =>
  inMemoryTransaction(new LedgerChanges(new LedgerState()));

/** For a store in the same database: its change happens when the transaction commits, or not at all. */
export function enlist(transaction: LedgerTransaction, change: () => void): void {
  const changes = openChanges.get(transaction);
  if (!changes) throw new Error("not a transaction of this ledger");
  changes.enlist(change);
}
