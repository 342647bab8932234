import { type Deleted, isFoundGone, type Outcome } from "../../../src/core/apply/outcome.ts";
import type { GroupFailures, RecordedFailure } from "../../../src/core/failure/group-failures.ts";
import type { Failure } from "../../../src/core/failure/sync-error.ts";
import { type Group, tokenFingerprint } from "../../../src/core/group/group.ts";
import {
  type Intent,
  intendsRemoval,
  type LedgerGroup,
  UNKNOWN_STATE,
} from "../../../src/core/group/ledger-group.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import {
  type Change,
  fingerprintOf,
  intentOf,
  isForToken,
  isRestored,
} from "../../../src/core/plan/change.ts";
import type { SettledUpdate } from "../../../src/core/plan/ledger-update.ts";
import type {
  Begun,
  BucketOptions,
  ExistingOptions,
  GroupReads,
  GroupWrites,
  KnownGroup,
  LedgerBucket,
  RecordedOutcome,
  SharedGroups,
} from "../../../src/ports/ledger/groups.ts";
import { sumsOf } from "../tenant-source.ts";
import {
  type CommittedLedger,
  failedOnce,
  failureCounts,
  type LedgerChanges,
  NO_INTENT,
  retryable,
} from "./ledger-changes.ts";
import { type LedgerRow, type LedgerState, NEW_ROW, type RowFailures } from "./ledger-state.ts";

/** The tenant is there: nothing waits to be deleted. */
const PRESENT = { absence: null, held: null };

export const groupReads = ({ state, step, batch }: CommittedLedger): GroupReads => ({
  async buckets({ unverifiedAtRest }: BucketOptions): Promise<readonly LedgerBucket[]> {
    await step({ when: "before", call: "ledgerBuckets" });
    const atRest = (row: LedgerRow): boolean =>
      row.fingerprint !== null &&
      row.fingerprint !== UNKNOWN_STATE &&
      row.row !== null &&
      row.intent === null &&
      row.absence === null &&
      row.failures.change === null &&
      row.failures.storing === null &&
      (row.unverified !== "updated" || unverifiedAtRest);
    const rows = [...state.rows.values()];
    const resting = sumsOf(rows.flatMap((row) => (row.row && atRest(row) ? [row.row] : [])));
    const restless = [...rows.filter((row) => !atRest(row)), ...state.rejections];
    return [...new Set([...rows, ...restless].map(({ bucket }) => bucket))].map((bucket) => ({
      ...(resting.find((sum) => sum.bucket === bucket) ?? { bucket, rows: 0, sum: "0" }),
      restless: restless.filter((one) => one.bucket === bucket).length,
    }));
  },

  async *groups(buckets?: readonly number[]): AsyncGenerator<readonly LedgerGroup[]> {
    const groups = groupsWhere(state, (_, { bucket }) => buckets?.includes(bucket) ?? true);
    for (let start = 0; start < groups.length; start += batch) {
      await step({ when: "before", call: "groups" });
      yield groups.slice(start, start + batch);
    }
  },

  async of(ids: readonly string[]): Promise<readonly LedgerGroup[]> {
    await step({ when: "before", call: "groupsOf" });
    return groupsWhere(state, (id) => ids.includes(id));
  },

  async confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>> {
    await step({ when: "before", call: "confirmed" });
    const known = ids.flatMap((id): [string, Group][] => {
      const group = state.rows.get(id)?.confirmed;
      return group ? [[id, group]] : [];
    });
    return new Map(known);
  },

  async existing({ limit, after, ...which }: ExistingOptions): Promise<readonly string[]> {
    await step({ when: "before", call: "existing" });
    return existing(state, which)
      .map(([id]) => id)
      .sort(compareIds)
      .filter((id) => after === undefined || compareIds(id, after) > 0)
      .slice(0, limit);
  },

  async existingCount(which: WhichExisting): Promise<number> {
    await step({ when: "before", call: "existingCount" });
    return existing(state, which).length;
  },

  async sharedGroups(): Promise<readonly SharedGroups[]> {
    await step({ when: "before", call: "sharedGroups" });
    return state.sharedGroups;
  },
});

export const groupWrites = (ledger: LedgerChanges): GroupWrites => ({
  async begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]> {
    await ledger.step({ when: "before", call: "begin" });
    for (const change of changes) ledger.enlist(() => intend(ledger, change, now));
    return changes.map((change) => {
      const row = ledger.state.rows.get(change.user_group_id);
      return { change, before: row ? knownGroup(row) : null };
    });
  },

  async withdraw(begun: readonly Begun[]): Promise<void> {
    await ledger.step({ when: "before", call: "withdraw" });
    for (const { change, before } of begun) {
      ledger.enlist(() => {
        const id = change.user_group_id;
        if (before?.intent === null) ledger.change(id, { ...NO_INTENT, intended: before.intended });
        else if (before) ledger.change(id, { intent: before.intent, intended: before.intended });
        else ledger.state.rows.delete(id);
      });
    }
  },

  async record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "record" });
    for (const recorded of outcomes) ledger.enlist(() => record(ledger, recorded, now));
  },

  async markSettled(settled: readonly SettledUpdate[]): Promise<void> {
    await ledger.step({ when: "before", call: "markSettled" });
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

  async forget(ids: readonly string[]): Promise<void> {
    await ledger.step({ when: "before", call: "forget" });
    ledger.enlist(() => {
      const { rows } = ledger.state;
      for (const id of ids) {
        const row = rows.get(id);
        if (row?.fingerprint === null && row.intent === null) rows.delete(id);
      }
    });
  },

  async forgetFailedChanges(ids: readonly string[]): Promise<void> {
    await ledger.step({ when: "before", call: "forgetFailedChanges" });
    for (const id of ids) ledger.enlist(() => ledger.fails(id, { change: null }));
  },
});

const groupsWhere = (
  { rows }: LedgerState,
  isWanted: (id: string, row: LedgerRow) => boolean,
): LedgerGroup[] =>
  [...rows]
    .filter(([id, row]) => isWanted(id, row))
    .map(([user_group_id, { fingerprint, row, intent, unverified, absence, held, failures }]) => {
      return {
        user_group_id,
        fingerprint,
        row,
        intent,
        isUpdateUnverified: unverified === "updated",
        absence,
        held,
        failures: withoutSince(failures),
      };
    })
    .sort((a, b) => compareIds(a.user_group_id, b.user_group_id));

type WhichExisting = Pick<ExistingOptions, "liveSince" | "of" | "underWay">;

function existing(state: LedgerState, { of, liveSince, underWay }: WhichExisting): [string, LedgerRow][] {
  return [...state.rows].filter(([id, { fingerprint, intent, tokenSince, intentAt }]) => {
    const since = tokenSince ?? intentAt;
    const isOld = liveSince === undefined || since === null || since <= liveSince;
    const mayExist = intent === null ? fingerprint !== null : intent !== "remove";
    return mayExist && isOld && (of?.includes(id) ?? true) && IS_UNDER_WAY[underWay ?? "whatever"](intent);
  });
}

const IS_UNDER_WAY = {
  whatever: () => true,
  anything: (intent: Intent | null) => intent !== null,
  "a removal": intendsRemoval,
};

const withoutSince = ({ change, rotation, storing }: RowFailures): GroupFailures => ({
  change: retryable(change),
  rotation: retryable(rotation),
  storing: retryable(storing),
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
