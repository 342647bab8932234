import { intendsRemoval, isCanary, type LedgerGroup } from "../../../src/core/group/ledger-group.ts";
import { compareIds, type RowDigest } from "../../../src/core/group/tenant.ts";
import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import {
  type CandidateList,
  isUnverified,
  isVouchedFor,
  lastVerified,
  nameKey,
  nameKeyOf,
  refreshCandidate,
  rotationCandidate,
} from "../../../src/core/record/candidates.ts";
import { type AlikeGroups, groupSums } from "../../../src/core/record/group-sums.ts";
import { AT_REST, failingSince, owes, restOf } from "../../../src/core/record/owes.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { FORGET } from "../../../src/core/report/forgotten.ts";
import type { LedgerView } from "../../../src/ports/ledger/ledger.ts";
import type { RecordedRun, RunSelection } from "../../../src/ports/ledger/scope.ts";
import type { Step } from "../instance.ts";
import { sumsOf } from "../tenant-source.ts";
import { holderOf, type LedgerState, NO_SERVICE, NO_TOKENS, stepping } from "./ledger-state.ts";

/** The only scope that a ledger in memory has. */
export const SCOPE = "default";

/** The committed state as one instance reads it. `now` is the database's clock, which no instance can set. */
export interface CommittedLedger {
  readonly state: LedgerState;
  readonly step: Step;
  readonly now: () => Date;
  /** How many groups come at a time. */
  readonly batch: number;
}

export const inMemoryReads = (committed: CommittedLedger): LedgerView => ({
  ...stepping(reads(committed), committed.step, CALLS),
  groups: (buckets) => batches(committed, buckets),
});

/** Calls whose names tell less than a point needs, because a source has such a call too, say. */
const CALLS: Readonly<Record<string, string>> = {
  inspect: "inspectLedger",
  buckets: "ledgerBuckets",
  records: "groupRecords",
};

async function* batches(
  { state, step, batch }: CommittedLedger,
  buckets?: readonly number[],
): AsyncGenerator<readonly LedgerGroup[]> {
  const groups = [...state.rows.values()]
    .filter(({ bucket }) => buckets?.includes(bucket) ?? true)
    .map(ledgerGroup)
    .sort((a, b) => compareIds(a.user_group_id, b.user_group_id));
  for (let start = 0; start < groups.length; start += batch) {
    await step({ when: "before", call: "groups" });
    yield groups.slice(start, start + batch);
  }
}

const reads = ({ state, now }: CommittedLedger): Omit<LedgerView, "groups"> => ({
  async inspect() {},
  async tables() {
    const { rows, service, history, tokens, runs } = state;
    const isThere =
      rows.size > 0 ||
      service !== NO_SERVICE ||
      history !== NO_READ_HISTORY ||
      tokens !== NO_TOKENS ||
      runs.some(({ command }) => command !== FORGET);
    return { place: "memory.groupsync_*", scopes: isThere ? [SCOPE] : [] };
  },

  async scope() {
    const { history, tokens, refreshApproved } = state;
    return {
      service: state.service.baseUrl === null ? NO_SERVICE : state.service,
      history,
      tokens,
      refreshApproved,
      lease: state.lease && state.lease.expiresAt > now() ? holderOf(state.lease) : null,
      ledgerId: state.id,
      readAt: now(),
    };
  },

  async buckets({ unverifiedAtRest }) {
    const atRest = (row: GroupRecord): boolean =>
      restOf(row) === AT_REST.yes || (restOf(row) === AT_REST.unlessKept && unverifiedAtRest);
    const rows = [...state.rows.values()];
    const resting = sumsOf(rows.filter(atRest).flatMap((row) => digestOf(row) ?? []));
    const dirty = [...rows.filter((row) => !atRest(row)), ...state.rejections];
    return [...new Set([...rows, ...dirty].map(({ bucket }) => bucket))].map((bucket) => ({
      ...(resting.find((sum) => sum.bucket === bucket) ?? { bucket, rows: 0, sum: "0" }),
      dirty: dirty.filter((one) => one.bucket === bucket).length,
      owing: [...state.rows.values()].filter((row) => row.bucket === bucket && owes(row).length > 0).length,
    }));
  },

  async records(ids) {
    const found = [...state.rows].filter(([id]) => ids.includes(id));
    return new Map(found.sort(([a], [b]) => compareIds(a, b)));
  },

  async sharedGroups() {
    return state.sharedGroups;
  },

  async candidates(list, { limit, after }) {
    return candidatesIn(state, list)
      .filter((row) => after === undefined || inOrderOf(list)(row, after) > 0)
      .slice(0, limit);
  },

  async journalSum(kinds, since, after) {
    const found = state.journal.filter(
      ({ id, kind, at }) => kinds.includes(kind) && at >= since && Number(id) > Number(after ?? 0),
    );
    const { id, user_group_id, at } = found.at(-1) ?? {};
    return { count: found.length, last: id && user_group_id && at ? { id, user_group_id, at } : null };
  },

  async sharedTokens(tokens, of) {
    const rows = [...state.rows];
    const isAnothers = ([id, token]: [string, string]): boolean =>
      state.formerTokens.some(
        ({ user_group_id, fingerprint }) => user_group_id !== id && fingerprint === token,
      ) ||
      rows.some(
        ([other, row]) =>
          other !== id && (row.tokenFingerprint === token || (of === "all" && row.sharedToken === token)),
      );
    return new Set([...tokens].filter(isAnothers).map(([id]) => id));
  },

  async history(since, limit, which) {
    return state.runs
      .filter((run) => run.startedAt >= since && (which === undefined || isOf(run, which)))
      .slice(0, limit);
  },

  async rejections(ids) {
    return state.rejections.filter(
      ({ user_group_id: id }) => ids === undefined || (id !== null && ids.includes(id)),
    );
  },

  async sums(list) {
    return groupSums((list ? candidatesIn(state, list) : [...state.rows.values()]).map(alone));
  },

  async journalOf(id) {
    return {
      removals: state.journal
        .flatMap(({ kind, user_group_id, at }) =>
          user_group_id === id && kind !== "token" ? [{ kind, at }] : [],
        )
        .reverse(),
      formerTokens: state.formerTokens
        .filter(({ user_group_id }) => user_group_id === id)
        .map(({ fingerprint, since, until }) => ({ fingerprint, since, until }))
        .reverse(),
    };
  },
});

const digestOf = ({ bucket, digest }: GroupRecord): RowDigest | null =>
  digest === null ? null : { bucket, digest };

const ledgerGroup = (row: GroupRecord): LedgerGroup => {
  const { user_group_id, bucket, digest, fingerprint, unverified, intent, absence, held, failures } = row;
  return { user_group_id, bucket, digest, fingerprint, unverified, intent, absence, held, failures };
};

export const candidatesIn = ({ rows }: LedgerState, list: CandidateList): GroupRecord[] =>
  [...rows.values()].filter((row) => isIn(row, list)).sort(inOrderOf(list));

function isIn(row: GroupRecord, list: CandidateList): boolean {
  if ("of" in list && typeof list.of === "object" && !list.of.includes(row.user_group_id)) return false;
  switch (list.kind) {
    case "existing": {
      const { fingerprint, intent, intentAt, tokenSince, wantedSince } = row;
      const since = tokenSince ?? intentAt;
      const isOld = list.liveSince === undefined || since === null || since <= list.liveSince;
      const mayExist = intent === null ? fingerprint !== null : intent !== "remove";
      const isWanted = !list.isWanted || wantedSince !== null;
      return (
        mayExist && !isCanary(row) && isOld && isWanted && (!list.isRemovalUnderWay || intendsRemoval(intent))
      );
    }
    case "owing":
      return owes(row).length > 0;
    case "held":
      return row.held !== null;
    case "id begins":
      return row.user_group_id.startsWith(list.text);
    case "name begins":
      return nameKeyOf(row)?.startsWith(nameKey(list.text)) ?? false;
    case "failing":
      return failingSince(row) !== null;
    case "vouched":
      return isVouchedFor(row) && (list.of !== "not everywhere" || row.failures.storing !== null);
    case "rotatable": {
      const { due } = list;
      const isDue =
        due instanceof Date
          ? row.wantedSince === null && row.tokenSince !== null && row.tokenSince <= due
          : row.wantedSince !== null && (due === "wanted" || row.wantedBy === "name");
      return isDue && rotationCandidate(row) !== null;
    }
    case "refreshable":
      return refreshCandidate(row) !== null && isUnverified(row, list);
  }
}

const TIMES: Readonly<Partial<Record<CandidateList["kind"], (row: GroupRecord) => Date | null>>> = {
  failing: failingSince,
  rotatable: ({ tokenSince }) => tokenSince,
  refreshable: lastVerified,
};

function inOrderOf({ kind }: CandidateList): (a: GroupRecord, b: GroupRecord) => number {
  const timeOf = (row: GroupRecord): number => TIMES[kind]?.(row)?.getTime() ?? 0;
  const nameOf = (row: GroupRecord): string => (kind === "name begins" ? (nameKeyOf(row) ?? "") : "");
  return (a, b) =>
    timeOf(a) - timeOf(b) || compareIds(nameOf(a), nameOf(b)) || compareIds(a.user_group_id, b.user_group_id);
}

/** A group alone, for `groupSums`. */
const alone = (row: GroupRecord): AlikeGroups => ({
  groups: 1,
  owed: owes(row),
  absence: row.absence,
  unverified: row.unverified === null ? 0 : 1,
  tokenSince: row.tokenSince,
  intentAt: row.intentAt,
  failingSince: failingSince(row),
});

const isOf = ({ command, result }: RecordedRun, which: RunSelection): boolean =>
  "command" in which
    ? command === which.command
    : result?.outcome === "failed" && which.failedWith.includes(result.error?.code ?? "");
