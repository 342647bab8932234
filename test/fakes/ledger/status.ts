import type { HeldRemoval } from "../../../src/core/deletion/removals.ts";
import {
  type ChangeFailure,
  failingGroup,
  type RecordedFailure,
} from "../../../src/core/failure/group-failures.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type {
  GroupRecord,
  HeldGroups,
  LedgerStatus,
  RecordedGroup,
  StatusReads,
} from "../../../src/ports/ledger/scope.ts";
import { type CommittedLedger, holderOf } from "./ledger-changes.ts";
import type { LedgerRow, LedgerState } from "./ledger-state.ts";

const SHOWN = 100;
const LONGEST_NAME = 200;

export const statusReads = ({ state, step, now }: CommittedLedger): StatusReads => ({
  async status(): Promise<LedgerStatus> {
    await step({ when: "before", call: "status" });
    const { rows, runs, lease, service } = state;
    const all = [...rows.values()];
    return {
      groups: {
        total: all.length,
        in_sync: all.filter((row) => !row.intent && failuresOf(row).length === 0 && !row.absence && !row.held)
          .length,
        under_way: all.filter((row) => row.intent !== null).length,
        failing: all.filter((row) => failuresOf(row).length > 0).length,
        missing: all.filter((row) => row.absence !== null).length,
        unverified: all.filter((row) => unverifiedIn(row, state) !== null).length,
      },
      oldestToken: oldestOf(all.map(({ tokenSince }) => tokenSince)),
      oldestUnsynced: oldestOf(
        all.flatMap((row) => [row.intentAt, ...failuresOf(row).map(({ since }) => since)]),
      ),
      held: held(state),
      failing: [...rows]
        .flatMap(([id, row]) => failingGroup(id, failuresOf(row)) ?? [])
        .sort((a, b) => a.since.getTime() - b.since.getTime() || compareIds(a.user_group_id, b.user_group_id))
        .slice(0, SHOWN),
      rejected: state.rejections,
      runs: runs.slice(0, 10),
      lease: lease && lease.expiresAt > now() ? holderOf(lease) : null,
      service,
    };
  },

  async record(id: string): Promise<GroupRecord> {
    await step({ when: "before", call: "groupRecord" });
    const row = state.rows.get(id);
    return {
      group: row ? recordedGroup(row, state) : null,
      removals: state.removals
        .filter(({ user_group_id }) => user_group_id === id)
        .map(({ kind, at }) => ({ kind, at }))
        .reverse(),
      formerTokens: state.formerTokens
        .filter(({ user_group_id }) => user_group_id === id)
        .map(({ fingerprint, since, until }) => ({ fingerprint, since, until }))
        .reverse(),
    };
  },

  async names(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    await step({ when: "before", call: "names" });
    return new Map(
      ids.flatMap((id): [string, string][] => {
        const name = state.rows.get(id)?.serviceName ?? null;
        return name === null ? [] : [[id, [...name].slice(0, LONGEST_NAME).join("")]];
      }),
    );
  },
});

function recordedGroup(row: LedgerRow, state: LedgerState): RecordedGroup {
  const { createdAt, changedAt, intentAt, confirmed, serviceName, tokenFingerprint, tokenSince } = row;
  const { change, rotation, storing } = row.failures;
  return {
    ...{ createdAt, changedAt, intentAt, confirmed, serviceName, tokenFingerprint, tokenSince },
    lastAsked: row.verifiedAt,
    unverified: unverifiedIn(row, state),
    failures: { change: change && withoutFingerprint(change), rotation, storing },
  };
}

const unverifiedIn = ({ unverified }: LedgerRow, { service }: LedgerState): RecordedGroup["unverified"] =>
  service.updates === true ? null : unverified;

function withoutFingerprint({
  fingerprint: _,
  ...failure
}: ChangeFailure & RecordedFailure): RecordedFailure {
  return failure;
}

function held(state: LedgerState): HeldGroups | null {
  const { rows, history } = state;
  const groups = [...rows]
    .flatMap(([user_group_id, { held }]): HeldRemoval[] => (held ? [{ kind: held, user_group_id }] : []))
    .sort((a, b) => compareIds(a.user_group_id, b.user_group_id));
  if (groups.length === 0 || history.heldCode === null) return null;
  return { count: groups.length, code: history.heldCode || null, groups: groups.slice(0, SHOWN) };
}

const failuresOf = ({ failures: { change, rotation, storing } }: LedgerRow): RecordedFailure[] =>
  [change, rotation, storing].filter((failure) => failure !== null);

const oldestOf = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((oldest, time) => (time && !(oldest && oldest < time) ? time : oldest), null);
