import { isDue } from "../failure/backoff.ts";
import type { ChangeFailure } from "../failure/group-failures.ts";
import { clockDiffers } from "../failure/sync-error.ts";
import {
  type Absence,
  type AbsenceKind,
  intendsRemoval,
  isCanary,
  type LedgerGroup,
  UNKNOWN_STATE,
} from "../group/ledger-group.ts";
import type {
  DesiredTenant,
  FlaggedTenant,
  NotReadyTenant,
  RejectedTenant,
  Tenant,
} from "../group/tenant.ts";
import { type Apply, type Change, type Delete, fingerprintOf } from "../plan/change.ts";
import { type DeletionPolicy, graceLeftMs, isGraceOver } from "../plan/deletion-policy.ts";
import type { Reading } from "../plan/read-history.ts";
import type { EventOf } from "./next.ts";
import { isNeverMade } from "./record.ts";

/** How a changed group is brought up to date (`service.update`). */
export type UpdatePolicy = "upsert" | "replace" | "never";

/** A group whose change has failed before, and whose next try is not due; or whose replacement waits for the clocks. */
interface Waiting {
  readonly kind: "waiting";
  readonly user_group_id: string;
  readonly code: string;
  readonly message: string;
  /** ISO 8601, because plans are written as JSON. */
  readonly retryAt: string;
}

/** A group whose tenant is gone, and that is not deleted now. */
export interface Missing {
  readonly kind: "missing";
  readonly user_group_id: string;
  readonly absence: AbsenceKind;
  /**
   * Milliseconds on the grace clock until the group is deleted; 0 if the next sync of all tenants deletes it, null if the
   * group is kept for good.
   */
  readonly dueInMs: number | null;
}

/** A changed group that `service.update: never` leaves alone. */
interface Outdated {
  readonly kind: "outdated";
  readonly user_group_id: string;
}

/** A tenant that the operator named. The tenant is gone and has no group. */
interface Gone {
  readonly kind: "gone";
  readonly user_group_id: string;
}

/** What a plan says about one tenant: a change to make, or why none is made. */
export type PlannedAction = Change | Waiting | Missing | Gone | Outdated | NotReadyTenant | RejectedTenant;

export interface PlanningContext {
  readonly now: Date;
  readonly update: UpdatePolicy;
  readonly deletion: DeletionPolicy;
  readonly reading: Reading;
  /** Whether GET changes an existing group; null as long as no answer has shown it. */
  readonly serviceUpdates: boolean | null;
  /** The plan is about all tenants. No other plan records that a tenant is gone, or deletes a group unless it skips the grace. */
  readonly isWhole: boolean;
  /** The operator named these tenants: their groups are deleted now, if the tenants are gone from a read of the whole source. */
  readonly skipsGrace?: boolean;
  /** The operator named these tenants: failed groups are tried even if their next try is not due. */
  readonly eager: boolean;
}

/** What the ledger records of a tenant that was seen, or was not there. An entry of a plan that needs no call. */
export type Note = Extract<
  EventOf,
  { readonly kind: "settled" | "change_dropped" | "returned" | "left" | "forgotten" }
>;

/** What is decided about one id. */
export interface Decision {
  /** A change to make, or why none is made; null if nothing is to be done about the group. */
  readonly action: PlannedAction | null;
  /** What the ledger has to record whatever becomes of the action; null if it is up to date. */
  readonly note: Note | null;
  /**
   * An earlier run left an update or a rotation under way, and nothing has settled that once the action is done. Then a GET settles
   * it: it tells the live token, and sends the group as it was confirmed.
   */
  readonly settles: boolean;
}

/**
 * Decides what is to be done about one id: for every sync, `plan`, `explain` and single tenants. The first row that fits counts.
 *
 * | tenant    | in the ledger                   | action                               | note                       |
 * |-----------|---------------------------------|--------------------------------------|----------------------------|
 * | rejected  | any                             | rejected: its group stays as it is   | returned                   |
 * | not ready | unknown, or never made          | not ready                            | forgotten                  |
 * | not ready | any other                       | not ready: its group stays as it is  | change dropped             |
 * | gone      | unknown, or never made          | none; gone, if the operator named it | forgotten                  |
 * | gone      | the canary of a probe           | delete                               | none                       |
 * | gone      | kept, by `deletion.when`        | missing                              | left                       |
 * | gone      | a deletion under way, or a      | delete                               | left                       |
 * |           | token still to be removed       |                                      |                            |
 * | gone      | any other, while clocks differ  | missing                              | left                       |
 * | gone      | a held deletion, or the grace   | delete                               | left                       |
 * |           | period is over or skipped       |                                      |                            |
 * | gone      | the grace period goes on        | missing                              | left                       |
 * | desired   | a replacement under way, or a   | replace                              | returned                   |
 * |           | deletion under way of a group   |                                      |                            |
 * |           | that was never confirmed        |                                      |                            |
 * | desired   | unknown, or never confirmed     | create                               | returned                   |
 * | desired   | another intent of an earlier    | update; or replace or outdated, if   | returned                   |
 * |           | run                             | the next row fits too and says so    |                            |
 * | desired   | another fingerprint, or an      | update or replace, or                | returned                   |
 * |           | update that this service can't  | outdated, by `service.update`        | change dropped if outdated |
 * |           | have done                       |                                      |                            |
 * | desired   | the same fingerprint            | none                                 | settled                    |
 *
 * A gone tenant is absent or flagged, see `absenceKind`. In a plan for some tenants alone, a group that would be deleted is
 * `missing`, unless the operator skips the grace period; and nothing is noted of a tenant that is gone. If the same change has
 * failed before, `waiting` is planned until the next try is due, but not for an update if a rotation or a deletion was begun since;
 * and for a replacement that no run has begun, while the clocks differ. `guardRemovals` decides later whether deletions and
 * replacements may be done.
 *
 * Nothing is noted that the ledger has already: `returned` needs an absence, `change dropped` an absence or a failed change,
 * `settled` one of them, another row or a held removal, and `left` no absence of this kind that still stands.
 *
 * A GET of its own settles what is under way and what the action leaves so. It is sent after the changes, and not before its next try
 * is due if it has failed.
 *
 * | under way                                | settled by a GET of its own                                        |
 * |------------------------------------------|--------------------------------------------------------------------|
 * | a rotation: the stored token may be dead | unless the action is an update that sends the group as confirmed   |
 * | an update, and the token may not be in   | likewise. `next` marks an update that is under way beside a        |
 * | every store                              | rotation so                                                        |
 * | any other update                         | unless the action is an update, even one that waits                |
 * | any of them, of a group that nobody ever | never: no application has its token                                |
 * | confirmed                                |                                                                    |
 */
export function decide(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  context: PlanningContext,
): Decision {
  const action = actionOn(tenant, known, context);
  if (known === undefined) return { action, note: null, settles: false };
  return {
    action,
    note: noteOn(tenant, known, action, context),
    settles: settles(tenant, known, action, context),
  };
}

function actionOn(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  context: PlanningContext,
): PlannedAction | null {
  if (tenant?.kind === "rejected" || tenant?.kind === "not_ready") return tenant;
  if (tenant?.kind === "desired") return decidePresent(tenant, known, context);
  if (known !== undefined && !isNeverMade(known)) return decideGone(tenant, known, context);
  const id = tenant?.user_group_id ?? known?.user_group_id;
  return !context.isWhole && id !== undefined ? { kind: "gone", user_group_id: id } : null;
}

function noteOn(
  tenant: Tenant | undefined,
  known: LedgerGroup,
  action: PlannedAction | null,
  { reading, isWhole }: PlanningContext,
): Note | null {
  const { user_group_id, absence, failures } = known;
  if (tenant === undefined || tenant.kind === "flagged") {
    if (!isWhole) return null;
    if (isNeverMade(known)) return { kind: "forgotten", user_group_id };
    const kind = absenceKind(tenant, known, reading);
    if (isCanary(known) || standingAbsence(known, kind, reading)) return null;
    return { kind: "left", user_group_id, absence: kind, clock: reading.clock };
  }
  if (tenant.kind === "not_ready" && isNeverMade(known)) return { kind: "forgotten", user_group_id };
  const isNews = absence !== null || failures.change !== null;
  if (action === null && tenant.kind === "desired") {
    const { row, dataSourceId } = tenant;
    const isSettled = !isNews && known.held === null;
    const isRecorded = isSettled && known.digest === row.digest && known.bucket === row.bucket;
    return isRecorded ? null : { kind: "settled", user_group_id, row, dataSourceId };
  }
  if (action?.kind === "not_ready" || action?.kind === "outdated")
    return isNews ? { kind: "change_dropped", user_group_id } : null;
  return absence === null ? null : { kind: "returned", user_group_id };
}

/** See `Decision.settles`. */
function settles(
  tenant: Tenant | undefined,
  { intent, fingerprint, failures: { storing } }: LedgerGroup,
  action: PlannedAction | null,
  { now, eager }: PlanningContext,
): boolean {
  const isOpen = fingerprint !== null && (intent === "apply" || intent === "rotate");
  // No update waits while a rotation is under way.
  const isUpdate = action?.kind === "update" || (action?.kind === "waiting" && intent === "apply");
  const sendsAnother = tenant?.kind === "desired" && tenant.fingerprint !== fingerprint;
  const mayHaveDeadToken = intent === "rotate" || storing !== null;
  return isOpen && (!isUpdate || (mayHaveDeadToken && sendsAnother)) && (eager || isDue(storing, now));
}

function decidePresent(
  tenant: DesiredTenant,
  known: LedgerGroup | undefined,
  context: PlanningContext,
): PlannedAction | null {
  if (known === undefined) return apply("create", tenant, known, context);
  const wasConfirmed = known.fingerprint !== null && known.fingerprint !== UNKNOWN_STATE;
  // A GET for the token, sent before the DELETE, may have created a group that matches no row.
  if (!wasConfirmed && intendsRemoval(known.intent)) return apply("replace", tenant, known, context);
  if (known.fingerprint === null) return apply("create", tenant, known, context);
  const differs = known.fingerprint !== tenant.fingerprint;
  const wasNotTaken = known.unverified === "updated" && context.serviceUpdates === false;
  const isOutdated = differs || wasNotTaken;
  if (known.intent === null && !isOutdated) return null;
  // A GET for the token that was left under way must not become an update: it is settled with the state that was confirmed.
  const isSettledApart =
    known.intent === null || (!intendsRemoval(known.intent) && known.fingerprint !== UNKNOWN_STATE);
  if (isOutdated && context.update === "never" && isSettledApart)
    return { kind: "outdated", user_group_id: tenant.user_group_id };
  const replaces = known.intent === "replace" || (context.update === "replace" && isOutdated);
  return apply(replaces ? "replace" : "update", tenant, known, context);
}

function decideGone(
  tenant: FlaggedTenant | undefined,
  known: LedgerGroup,
  context: PlanningContext,
): Delete | Missing | Waiting {
  const { user_group_id, failures, held } = known;
  const failure = failures.change;
  const { deletion, reading, skipsGrace = false } = context;
  const kind = absenceKind(tenant, known, reading);
  const underWay = known.intent === "delete" || known.intent === "remove";
  const isFlagged = tenant !== undefined || kind === "flagged";
  const isEvidence = deletion.when === "absent" || isFlagged || underWay || skipsGrace;
  if ((deletion.when === "never" && !isCanary(known)) || !isEvidence)
    return { kind: "missing", user_group_id, absence: kind, dueInMs: null };

  const since = standingAbsence(known, kind, reading)?.at ?? reading.clock;
  // A held deletion stays due, because its approval code has to stay valid. Not after a long pause: the tenant may have been back.
  const isHeld = held === "delete" && !reading.afterLongPause;
  const waits = !skipsGrace && !isHeld && !isGraceOver(since, reading.clock, deletion);
  const mayGo = reading.hostLeadMs === null && !waits;
  if (!underWay && !mayGo) {
    const dueInMs = graceLeftMs(since, reading.clock, deletion);
    return { kind: "missing", user_group_id, absence: kind, dueInMs };
  }
  if (!context.isWhole && !skipsGrace) return { kind: "missing", user_group_id, absence: kind, dueInMs: 0 };
  const failedBefore = failure !== null;
  const change = { kind: "delete", user_group_id, absence: kind, underWay, failedBefore } as const;
  return unlessWaiting({ ...change, ...(skipsGrace && { skipsGrace }) }, failure, context);
}

/**
 * How a tenant is gone. The tenant has no row, or a flagged row. If the row was flagged before it disappeared, the tenant
 * stays flagged: customers flag a row first and purge it later.
 */
function absenceKind(
  tenant: FlaggedTenant | undefined,
  known: LedgerGroup,
  { sourceChanged }: Reading,
): AbsenceKind {
  if (isCanary(known)) return "canary";
  // Until a tenant was seen present in a new source, a flag there proves no more than a missing row.
  if (sourceChanged || known.absence?.kind === "unseen") return "unseen";
  return tenant || known.absence?.kind === "flagged" ? "flagged" : "absent";
}

/**
 * The recorded absence, if it is of this kind and still stands. It doesn't after a long pause. Nor does it if it began later
 * than the grace clock shows now: the run that recorded it ended before it recorded its grace clock.
 */
const standingAbsence = (
  { absence }: LedgerGroup,
  kind: AbsenceKind,
  { clock, afterLongPause }: Reading,
): Absence | undefined =>
  absence?.kind === kind && absence.at.ms <= clock.ms && !afterLongPause ? absence : undefined;

function apply(
  kind: Apply["kind"],
  { user_group_id, group, fingerprint, row, dataSourceId }: DesiredTenant,
  known: LedgerGroup | undefined,
  context: PlanningContext,
): Apply | Waiting {
  const intent = known?.intent ?? null;
  // Finish a replacement that was begun: if it were held back, the tenant might be left without a group.
  const underWay = kind === "replace" ? intendsRemoval(intent) : intent !== null;
  if (kind === "replace" && !underWay && context.reading.hostLeadMs !== null)
    return {
      kind: "waiting",
      user_group_id,
      ...clockDiffers("the group is to be replaced, which waits until the clocks agree"),
      retryAt: context.now.toISOString(),
    };
  const failure = known?.failures.change ?? null;
  const failedBefore = failure !== null;
  const change = { kind, user_group_id, group, fingerprint, row, dataSourceId, underWay, failedBefore };
  // A rotation or a deletion that was begun after the update had failed may have ended the token, and the GET tells the live one.
  const mayWait = kind === "replace" || intent === null || intent === "apply";
  return mayWait ? unlessWaiting(change, failure, context) : change;
}

/** The change; `waiting` if the same change has failed before and its next try is not due. */
function unlessWaiting<C extends Change>(
  change: C,
  failure: ChangeFailure | null,
  { now, eager }: PlanningContext,
): C | Waiting {
  if (failure === null || eager || isDue(failure, now)) return change;
  if (failure.fingerprint !== fingerprintOf(change)) return change;
  const { code, message, retryAt } = failure;
  const { user_group_id } = change;
  return { kind: "waiting", user_group_id, code, message, retryAt: retryAt.toISOString() };
}
