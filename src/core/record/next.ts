import { foundByRefresh, type Outcome } from "../apply/outcome.ts";
import { waitAfterFailures } from "../failure/backoff.ts";
import type { ChangeFailure, RecordedFailure, RetryableFailure } from "../failure/group-failures.ts";
import type { Failure } from "../failure/sync-error.ts";
import { tokenFingerprint } from "../group/group.ts";
import {
  type AbsenceKind,
  type Doubt,
  type GraceClock,
  isCanary,
  UNKNOWN_STATE,
} from "../group/ledger-group.ts";
import type { RowDigest } from "../group/tenant.ts";
import { type Change, fingerprintOf, intentOf, isForToken, isRestored, type Step } from "../plan/change.ts";
import { type GroupRecord, isNeverMade, newRecord } from "./record.ts";

/** Something that happened to one group, or that was found out about it. */
export type GroupEvent =
  /** What happens is decided by the record, which nobody else changes until that is committed. Null: nothing. */
  | { readonly kind: "decided"; readonly by: (record: GroupRecord | null) => GroupEvent | null }
  /** A call is about to be sent. */
  | { readonly kind: "begun"; readonly change: Step }
  /** `probe` is about to make its canary, to delete it again. */
  | { readonly kind: "probed"; readonly user_group_id: string; readonly baseUrl: string }
  /** The call that was begun was never sent, or surely had no effect. `before` is the record from before it was begun. */
  | { readonly kind: "unsent"; readonly before: GroupRecord | null }
  | ({ readonly kind: "ended" } & RecordedOutcome)
  | ({ readonly kind: "rotation_ended" } & RotationEnd)
  | ({ readonly kind: "storing_ended" } & StoringEnd)
  /** An operator wants a new token, and gets it as soon as the service and the stores let it. */
  | { readonly kind: "wanted"; readonly by: "name" | "choice" }
  /** The operator wants it no more. */
  | { readonly kind: "unwanted" }
  /** The group is as its row wants it. */
  | { readonly kind: "settled"; readonly row: RowDigest; readonly dataSourceId: string | null }
  /** The tenant is there, and nothing tries the change again that has failed. */
  | { readonly kind: "change_dropped" }
  /** The tenant is gone, or not ready, and its group was perhaps never made. */
  | { readonly kind: "forgotten" }
  /** The tenant is gone, since this time on the grace clock. */
  | { readonly kind: "left"; readonly absence: AbsenceKind; readonly clock: GraceClock }
  /** The tenant is there. */
  | { readonly kind: "returned" }
  | { readonly kind: "held"; readonly removal: GroupRecord["held"] }
  /**
   * The ledger's database went back in time. `last` is the record that this process had saved; null if the ledger had forgotten
   * the group by then. Without it, calls of which the ledger knows nothing may have changed the group.
   */
  | { readonly kind: "doubted"; readonly last?: GroupRecord | null }
  /** An operator wants the service to be asked for the group again. */
  | { readonly kind: "refresh_wanted" }
  /** The operator says that nothing was lost, or takes a refresh back. */
  | { readonly kind: "trusted"; readonly doubt: Doubt };

/** An event, and the group that it is about. */
export type EventOf = GroupEvent & { readonly user_group_id: string };

/** An outcome and, for a failure, when to try again. */
export interface RecordedOutcome {
  readonly outcome: Outcome;
  /** The service took the change. Some of the stores have the token, but not all of them. */
  readonly notEverywhere?: Failure;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
  /** The group is deleted, but its token is still stored: the intent to remove the token stays. */
  readonly notRemoved?: Failure;
  readonly retryAt?: Date;
}

export interface RotationEnd {
  /** Of the token that is live and stored; null if no token is known to be both. */
  readonly tokenFingerprint: string | null;
  /**
   * Whether a POST was answered with that token. A GET may tell the very token that somebody wants to be rid of, even if it says
   * that the group is new.
   */
  readonly isOfPost: boolean;
  /**
   * Null if nothing failed. That clears an earlier failure only if the token has changed and no other is wanted: otherwise the
   * rotation is still to be done.
   */
  readonly failure: (Failure & { readonly retryAt: Date }) | null;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
  /** This rotation, or an earlier run's change, is still under way: the intent stays. */
  readonly isOpen: boolean;
}

/** Whether a token is in every store by now. */
interface StoringEnd {
  /** Null if the token is in every store. The count of failures in a row includes this one. */
  readonly failure: RetryableFailure | null;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
}

/** The event of a token that could not be stored. `former` is the failure of storing that the group has so far. */
export function storingFailed(
  user_group_id: string,
  former: Pick<RetryableFailure, "count"> | null,
  { code, message }: Failure,
  now: Date,
): EventOf & { readonly kind: "storing_ended" } {
  const count = (former?.count ?? 0) + 1;
  const retryAt = new Date(now.getTime() + waitAfterFailures(count));
  return { kind: "storing_ended", user_group_id, failure: { code, message, count, retryAt } };
}

/** What a transition leaves behind beside the record. */
export type JournalEntry =
  | {
      readonly kind: "former_token";
      readonly user_group_id: string;
      readonly tokenFingerprint: string;
      readonly since: Date | null;
      readonly until: Date;
    }
  /**
   * `gone`: a refresh found the group gone, and made it again. `token`: it found another token. `skip_grace`: the group is deleted
   * because an operator named its tenant, which doesn't count in the limit.
   */
  | {
      readonly kind: "delete" | "replace" | "gone" | "token" | "skip_grace";
      readonly user_group_id: string;
      readonly at: Date;
    };

export interface Next {
  /** Null: the ledger keeps nothing of the group any more. */
  readonly record: GroupRecord | null;
  readonly journal: readonly JournalEntry[];
}

/**
 * What becomes of a group's record. Pure, and the only place where a record changes. An event about a group that the ledger
 * doesn't know changes nothing, except `begun`, `probed`, and `doubted` with a last record.
 *
 * | event                  | intent          | what else changes                                                    |
 * |------------------------|-----------------|----------------------------------------------------------------------|
 * | begun                  | of the change;  | what is intended: nothing, if an open intent meant another state.    |
 * |                        | an open removal | If an update and a rotation are under way together, the token is     |
 * |                        | stays one, and  | perhaps not in every store                                           |
 * |                        | a rotation too  |                                                                      |
 * |                        | if a GET asks   |                                                                      |
 * |                        | for its token   |                                                                      |
 * | probed                 | `delete`        | the group is a canary                                                |
 * | unsent                 | as before       | what is intended, as before; a group that nobody knew before is gone |
 * | ended: failed          | stays, if the   | its failure; the tenant is there, if the change was for its row      |
 * |                        | call may have   |                                                                      |
 * |                        | happened        |                                                                      |
 * | ended: not updated     | none            | name, token; the failed change; perhaps an unknown state             |
 * | ended: created,        | none            | name, token; if the change was for its row, also the confirmed       |
 * | adopted, updated,      |                 | state, and the tenant is there                                       |
 * | replaced               |                 |                                                                      |
 * | ended: deleted         |                 | the record goes, unless a token is still stored: then all of the     |
 * |                        |                 | group goes, and the intent is to remove that token                   |
 * | rotation ended         | stays, if open  | the token, or the failure                                            |
 * | storing ended          |                 | whether every store has the token                                    |
 * | wanted                 |                 | since when a new token is wanted: until a POST is answered with one  |
 * | unwanted               |                 | no new token is wanted, and no rotation failed                       |
 * | settled                |                 | the row's digest; the tenant is there; no failed change              |
 * | change dropped         |                 | the tenant is there; no failed change                                |
 * | forgotten              |                 | the record goes if the group was never made                          |
 * | left, returned, held   |                 | the absence; what is held. The token of a tenant that was gone is    |
 * |                        |                 | perhaps not in every store                                           |
 * | doubted                | never made:     | all is as in the last record, if there is one; a group that was made |
 * |                        | `apply`; token  | is in doubt, and no answer shows its mapping. If the ledger had      |
 * |                        | to be removed:  | forgotten it: all of the group goes, and the intent is to remove a   |
 * |                        | `delete`        | token that may be left                                               |
 * | refresh wanted         |                 | a group that was made is in doubt: until a GET has told its name     |
 * |                        |                 | and its token, and both were compared                                |
 * | trusted                |                 | this doubt ends                                                      |
 *
 * A token that dies is kept in the journal, and so is a removal, once.
 */
export function next(record: GroupRecord | null, event: GroupEvent, now: Date): Next {
  if (event.kind === "decided") {
    const decided = event.by(record);
    return decided ? next(record, decided, now) : only(record);
  }
  if (event.kind === "begun") return only(begun(record, event.change, now));
  if (event.kind === "doubted") {
    const known = doubted(record, event.last, now);
    return {
      record: known,
      journal: record ? formerToken(record, known?.tokenFingerprint ?? null, now) : [],
    };
  }
  if (event.kind === "probed") return only(record ?? canary(event, now));
  if (record === null) return only(null);
  switch (event.kind) {
    case "unsent":
      return only(event.before && unsent(record, event.before));
    case "ended":
      return ended(record, event, now);
    case "rotation_ended":
      return rotationEnded(record, event, now);
    case "storing_ended":
      return only(storingEnded(record, event, now));
    case "wanted": {
      const wantedBy = record.wantedBy === "name" ? "name" : event.by;
      return only(
        isNeverMade(record) ? record : { ...record, wantedSince: record.wantedSince ?? now, wantedBy },
      );
    }
    case "unwanted":
      return only({ ...record, ...UNWANTED, failures: { ...record.failures, rotation: null } });
    case "settled": {
      const { row, dataSourceId } = event;
      return only({ ...withoutFailedChange(returned(record, now)), ...PRESENT, ...row, dataSourceId });
    }
    case "change_dropped":
      return only(withoutFailedChange(returned(record, now)));
    case "forgotten":
      // Keep a group that was made, or may have been made: no other inventory has it.
      return only(isNeverMade(record) ? null : record);
    case "left": {
      const { absence: kind, clock: at } = event;
      const since = record.absence?.kind === kind ? record.absence.since : now;
      return only({ ...record, absence: { kind, since, at } });
    }
    case "returned":
      return only(returned(record, now));
    case "held":
      return only(record.held === event.removal ? record : { ...record, held: event.removal });
    case "trusted":
      return only(record.doubt === event.doubt ? { ...record, doubt: null } : record);
    case "refresh_wanted":
      return only(record.fingerprint === null ? record : { ...record, doubt: record.doubt ?? "operator" });
    default:
      return event satisfies never;
  }
}

function doubted(
  record: GroupRecord | null,
  last: GroupRecord | null | undefined,
  now: Date,
): GroupRecord | null {
  if (last === null) return record?.intent === "remove" ? record : record && withoutGroup(record, now);
  const known = last ?? record;
  if (known === null) return null;
  // The tenant may have come back, and got another group.
  if (known.intent === "remove") return { ...known, fingerprint: null, intent: "delete" };
  if (isNeverMade(known)) return { ...known, intent: "apply", intentAt: now };
  if (known.fingerprint === null) return known;
  return { ...known, doubt: "rewind", unverified: known.unverified ?? "adopted" };
}

const only = (record: GroupRecord | null): Next => ({ record, journal: [] });

const NO_INTENT = { intent: null, intentAt: null, intended: null } as const;

const UNWANTED = { wantedSince: null, wantedBy: null } as const;

/** The tenant is there: nothing waits to be deleted. */
const PRESENT = { absence: null, held: null } as const;

function begun(known: GroupRecord | null, change: Step, now: Date): GroupRecord | null {
  const intentAt = known?.intentAt ?? now;
  if (change.kind === "rotate") {
    if (known === null) return null;
    return { ...withRotationMarked(known, change, now), intent: intentOf(change, known.intent), intentAt };
  }
  if (change.kind === "delete") {
    if (known === null) return null;
    return { ...known, intent: known.intent === "remove" ? "remove" : "delete", intentAt };
  }
  const record = known ?? newRecord(change.user_group_id, change.row.bucket, now);
  const meansTheSame = record.intent === null || record.intended === change.fingerprint;
  return {
    ...withRotationMarked(record, change, now),
    intent: intentOf(change, record.intent),
    intentAt,
    intended: meansTheSame ? change.fingerprint : null,
    // Of a group that was made, a DELETE needs the one that the service knows.
    ...(isNeverMade(record) && { dataSourceId: change.dataSourceId }),
  };
}

/**
 * If a rotation and an update are under way together, the intent is that of the update. So mark that the stored token may be dead,
 * until an answer tells the live one.
 */
function withRotationMarked(record: GroupRecord, change: Step, now: Date): GroupRecord {
  const isBoth = change.kind === "rotate" ? record.intent === "apply" : record.intent === "rotate";
  if (!isBoth || intentOf(change, record.intent) !== "apply" || record.failures.storing) return record;
  const failure = {
    code: "TOKEN_NOT_EVERYWHERE",
    message: "a rotation was under way, and the service has not been asked for the live token since",
    count: 1,
    retryAt: now,
  };
  return storingEnded(record, { failure }, now);
}

/** From the first call on, it is to be deleted. */
const canary = (
  { user_group_id, baseUrl }: GroupEvent & { readonly kind: "probed" },
  now: Date,
): GroupRecord => ({
  ...newRecord(user_group_id, 0, now),
  canaryAt: baseUrl,
  intent: "delete",
  intentAt: now,
  absence: { kind: "canary", since: now, at: { ms: 0, reads: 0 } },
});

function unsent(record: GroupRecord, before: GroupRecord): GroupRecord {
  const { intent, intentAt, intended, dataSourceId } = before;
  // `begun` may have marked the token.
  const failures = { ...record.failures, storing: before.failures.storing };
  return { ...record, intent, intentAt, intended, dataSourceId, failures };
}

function ended(record: GroupRecord, event: RecordedOutcome, now: Date): Next {
  const { outcome } = event;
  const removal = removalBy(record, outcome, now);
  if (outcome.kind === "deleted") {
    const journal = [...formerToken(record, null, now), ...removal];
    return { record: event.notRemoved ? leftover(record, event.notRemoved, event, now) : null, journal };
  }
  if (outcome.kind === "failed")
    return { record: failed(record, { ...event, outcome }, now), journal: removal };
  const token = tokenFingerprint(outcome.token);
  const told = answered(withToken(record, token, outcome.isNew, now), { ...event, outcome }, now);
  return { record: told, journal: [...formerToken(record, token, now), ...removal] };
}

/**
 * What counts as a removal, or in the guard of refreshes. A deletion whose token couldn't be removed was counted when the service
 * deleted the group.
 */
function removalBy(record: GroupRecord, outcome: Outcome, at: Date): readonly JournalEntry[] {
  const { user_group_id, intent } = record;
  const isReplaced = outcome.kind === "replaced" || (outcome.kind === "not_updated" && outcome.wasRemoved);
  const isDeleted = outcome.kind === "deleted" && intent !== "remove" && !isCanary(record);
  const found = foundByRefresh(outcome);
  return [
    ...(found ? [found] : []),
    ...(isReplaced ? (["replace"] as const) : []),
    ...(isDeleted ? ([outcome.change.skipsGrace ? "skip_grace" : "delete"] as const) : []),
  ].map((kind) => ({ kind, user_group_id, at }));
}

/** The group is deleted, and its token is still stored. */
function leftover(
  record: GroupRecord,
  failure: Failure,
  { outcome, retryAt }: RecordedOutcome,
  now: Date,
): GroupRecord {
  const left = withoutGroup(record, now);
  return {
    ...left,
    failures: { ...left.failures, change: failedChange(record, outcome.change, failure, retryAt, now) },
  };
}

/** All of the group goes, and the intent is to remove its token. */
const withoutGroup = (
  { user_group_id, bucket, absence, intentAt, createdAt }: GroupRecord,
  now: Date,
): GroupRecord => ({
  ...newRecord(user_group_id, bucket, now),
  createdAt,
  absence,
  intent: "remove",
  intentAt: intentAt ?? now,
});

type Of<K extends Outcome["kind"]> = RecordedOutcome & { readonly outcome: Extract<Outcome, { kind: K }> };

function failed(
  record: GroupRecord,
  { outcome, retryAt, sharedToken }: Of<"failed">,
  now: Date,
): GroupRecord {
  const { change, failure, mayHaveHappened } = outcome;
  const isOfRow = change.kind !== "delete" && !isForToken(change);
  return {
    ...record,
    ...(!mayHaveHappened && NO_INTENT),
    ...(isOfRow && PRESENT),
    sharedToken: sharedToken ?? record.sharedToken,
    failures: isForToken(change)
      ? { ...record.failures, storing: failedAgain(record.failures.storing, failure, retryAt, now) }
      : { ...record.failures, change: failedChange(record, change, failure, retryAt, now) },
    changedAt: now,
  };
}

/** The service has told the group's name and its live token, which is stored. */
function answered(
  record: GroupRecord,
  { outcome, retryAt, notEverywhere }: Of<"created" | "adopted" | "updated" | "replaced" | "not_updated">,
  now: Date,
): GroupRecord {
  const { change, serviceName } = outcome;
  const storing = notEverywhere ? failedAgain(record.failures.storing, notEverywhere, retryAt, now) : null;
  const told: GroupRecord = {
    ...record,
    ...NO_INTENT,
    serviceName,
    sharedToken: null,
    // Who asks for a token alone hasn't looked whether the tenant is there, and compares no name.
    ...(!isForToken(change) && PRESENT),
    ...(!isRestored(change) && { verifiedAt: now, doubt: null }),
    failures: { ...record.failures, storing },
    changedAt: now,
  };
  if (outcome.kind === "not_updated") {
    return {
      ...told,
      fingerprint: outcome.isUnknownState ? UNKNOWN_STATE : told.fingerprint,
      ...(outcome.failure && {
        failures: { ...told.failures, change: failedChange(record, change, outcome.failure, retryAt, now) },
      }),
    };
  }
  // The group was to stay as it is; and if a change of it has failed, that stands.
  if (isForToken(change)) return told;
  return {
    ...withoutFailedChange(told),
    ...change.row,
    fingerprint: change.fingerprint,
    confirmed: change.group,
    dataSourceId: change.dataSourceId,
    unverified: outcome.unverified ? (outcome.kind === "updated" ? "updated" : "adopted") : null,
  };
}

function rotationEnded(record: GroupRecord, event: RotationEnd, now: Date): Next {
  const { tokenFingerprint: token, failure, isOfPost, isOpen } = event;
  const wish = isOfPost && token !== record.tokenFingerprint ? { ...record, ...UNWANTED } : record;
  const told = token === null ? record : withToken(wish, token, isOfPost, now);
  const { failures } = told;
  // A GET has told the token in the midst of the rotation, whose POST may follow.
  const isUnsettled = token === null || (isOpen && !isOfPost);
  return {
    record: {
      ...told,
      ...(!isOpen && NO_INTENT),
      sharedToken: token === null ? (event.sharedToken ?? record.sharedToken) : null,
      failures: {
        ...failures,
        storing: isUnsettled ? failures.storing : null,
        rotation: failure
          ? failedAgain(record.failures.rotation, failure, failure.retryAt, now)
          : failures.rotation,
      },
    },
    journal: token === null ? [] : formerToken(record, token, now),
  };
}

function storingEnded(record: GroupRecord, { failure, sharedToken }: StoringEnd, now: Date): GroupRecord {
  const storing = failure && { ...failure, since: record.failures.storing?.since ?? now };
  return {
    ...record,
    sharedToken: sharedToken ?? record.sharedToken,
    failures: { ...record.failures, storing },
  };
}

/** The tenant is there. If the tokens moved to another store while it was gone, its token was left behind. */
function returned(record: GroupRecord, now: Date): GroupRecord {
  const present = { ...record, absence: null, held: record.held === "delete" ? null : record.held };
  if (record.absence === null || record.tokenFingerprint === null) return present;
  const failure = {
    code: "TOKEN_NOT_EVERYWHERE",
    message: "the tenant came back, and the token stores have not been checked for its token yet",
    count: 1,
    retryAt: now,
  };
  return storingEnded(present, { failure }, now);
}

/**
 * The service has told a token, so the group is there. It is in a state that no row asked for if it was never confirmed. The same
 * holds if this run's call has not made the token, and an earlier one may have meant another state: perhaps the group was gone,
 * and that call made it. Of a ledger that went back in time, nobody knows what earlier calls meant.
 */
function withToken(record: GroupRecord, token: string, isNew: boolean, now: Date): GroupRecord {
  const { fingerprint, intent, intended, doubt } = record;
  if (record.tokenFingerprint === token) return record;
  const changedTokenAlone = (intent === null || intent === "rotate") && doubt !== "rewind";
  const isAsConfirmed = isNew || changedTokenAlone || intended === fingerprint;
  return {
    ...record,
    fingerprint: isAsConfirmed ? (fingerprint ?? UNKNOWN_STATE) : UNKNOWN_STATE,
    // The name was that of the group before.
    serviceName: isAsConfirmed ? record.serviceName : null,
    tokenFingerprint: token,
    tokenSince: now,
    // Another token ends the failures of its rotation, unless that is still to be done.
    failures: { ...record.failures, rotation: record.wantedSince && record.failures.rotation },
  };
}

/** The token that dies; null if the group's last one dies. */
function formerToken(
  { user_group_id, tokenFingerprint: former, tokenSince: since }: GroupRecord,
  token: string | null,
  until: Date,
): readonly JournalEntry[] {
  if (former === null || former === token) return [];
  return [{ kind: "former_token", user_group_id, tokenFingerprint: former, since, until }];
}

const withoutFailedChange = (record: GroupRecord): GroupRecord => ({
  ...record,
  failures: { ...record.failures, change: null },
});

const failedChange = (
  { failures }: GroupRecord,
  change: Change,
  failure: Failure,
  retryAt: Date | undefined,
  now: Date,
): ChangeFailure => ({
  ...failedAgain(failures.change, failure, retryAt, now),
  fingerprint: fingerprintOf(change),
});

const failedAgain = (
  before: RecordedFailure | null,
  { code, message }: Failure,
  retryAt = new Date(0),
  now: Date,
): RecordedFailure => ({
  code,
  message,
  count: (before?.count ?? 0) + 1,
  retryAt,
  since: before?.since ?? now,
});
