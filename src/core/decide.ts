import { isDue } from "./backoff.ts";
import { type Apply, type Change, type Delete, fingerprintOf, isOfChange } from "./change.ts";
import { type DeletionPolicy, graceLeftMs, isGraceOver } from "./deletion.ts";
import type { Reading } from "./evidence.ts";
import {
  type Absence,
  type AbsenceKind,
  type GroupFailure,
  intendsRemoval,
  type LedgerGroup,
  UNKNOWN_STATE,
} from "./ledger-group.ts";
import type { DesiredTenant, FlaggedTenant, RejectedTenant, Tenant } from "./tenant.ts";

/** How a changed group is brought up to date (`service.update`). */
export type UpdatePolicy = "upsert" | "replace" | "never";

/** A group that failed with just this change, and whose next try is not due. */
export interface Waiting {
  readonly kind: "waiting";
  readonly user_group_id: string;
  readonly code: string;
  readonly message: string;
  /** ISO 8601: plans are written down as JSON. */
  readonly retryAt: string;
}

/** A group whose tenant is gone, and which is not deleted now. */
export interface Missing {
  readonly kind: "missing";
  readonly user_group_id: string;
  readonly absence: AbsenceKind;
  /** Of healthy time until it is deleted; null where it is kept for good. */
  readonly dueInMs: number | null;
}

/** A changed group that `service.update: never` leaves alone. */
export interface Outdated {
  readonly kind: "outdated";
  readonly user_group_id: string;
}

/** A tenant that the operator has named: it is gone, and there is no group of it. */
export interface Gone {
  readonly kind: "gone";
  readonly user_group_id: string;
}

/** What may have to be done about a tenant, or said of it. */
export type Decision = Change | Waiting | Missing | Gone | Outdated | RejectedTenant;

export interface DecisionContext {
  readonly now: Date;
  readonly update: UpdatePolicy;
  readonly deletion: DeletionPolicy;
  readonly reading: Reading;
  /** Whether the service is known to change an existing group on GET; null until it has been seen. */
  readonly serviceUpdates: boolean | null;
  /** Named by the operator: failed groups are tried whether or not their time has come. */
  readonly eager: boolean;
}

/**
 * What is to be done about one id. Null where nothing is.
 *
 * | tenant   | in the ledger                     | decision                            |
 * |----------|-----------------------------------|-------------------------------------|
 * | rejected | any                               | rejected; its group stays as it is  |
 * | gone     | unknown, or never made            | nothing; gone, if it is named       |
 * | gone     | in a way that is no evidence      | missing                             |
 * | gone     | a delete under way, or a token    | delete                              |
 * |          | that is still to be removed       |                                     |
 * | gone     | else, and it is time              | delete                              |
 * | gone     | else                              | missing                             |
 * | desired  | a replacement under way, or the   | replace                             |
 * |          | delete of one never confirmed     |                                     |
 * | desired  | unknown, or never confirmed       | create                              |
 * | desired  | an update or a delete under way   | update; where it differs, replace   |
 * |          |                                   | if that is `service.update`         |
 * | desired  | another fingerprint               | update, replace or outdated, as     |
 * |          |                                   | `service.update` has it             |
 * | desired  | updated unverified, and GET never | the same                            |
 * |          | updates                           |                                     |
 * | desired  | the same fingerprint              | nothing                             |
 *
 * Gone is absent or flagged, as `absenceKind` has it; `deletion.when` says which of them is evidence. A change that has failed before is
 * waiting until its next try is due. Whether deletions and replacements may be done is another question: see
 * `clearanceOf`.
 */
export function decide(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  context: DecisionContext,
): Decision | null {
  if (tenant?.kind === "rejected") return tenant;
  if (tenant?.kind === "desired") return decidePresent(tenant, known, context);
  if (known !== undefined && !wasNeverMade(known)) return decideGone(tenant, known, context);
  const id = tenant?.user_group_id ?? known?.user_group_id;
  return context.eager && id !== undefined ? { kind: "gone", user_group_id: id } : null;
}

function decidePresent(
  tenant: DesiredTenant,
  known: LedgerGroup | undefined,
  context: DecisionContext,
): Decision | null {
  if (known === undefined) return apply("create", tenant, known, context);
  const wasConfirmed = known.fingerprint !== null && known.fingerprint !== UNKNOWN_STATE;
  // To delete it, a group may have been made that is like no tenant's row.
  if (!wasConfirmed && intendsRemoval(known.intent)) return apply("replace", tenant, known, context);
  if (known.fingerprint === null) return apply("create", tenant, known, context);
  const differs = known.fingerprint !== tenant.fingerprint;
  const wasNotTaken = known.unverified === "updated" && context.serviceUpdates === false;
  const isOutdated = differs || wasNotTaken;
  if (known.intent === null) {
    if (!isOutdated) return null;
    if (context.update === "never") return { kind: "outdated", user_group_id: tenant.user_group_id };
  }
  const replaces = known.intent === "replace" || (context.update === "replace" && isOutdated);
  return apply(replaces ? "replace" : "update", tenant, known, context);
}

function decideGone(
  tenant: FlaggedTenant | undefined,
  known: LedgerGroup,
  context: DecisionContext,
): Delete | Missing | Waiting {
  const { user_group_id, failure, held } = known;
  const { deletion, reading, now } = context;
  const kind = absenceKind(tenant, known, reading);
  const underWay = known.intent === "delete" || known.intent === "remove";
  const isFlagged = tenant !== undefined || kind === "flagged";
  const isEvidence = deletion.when === "absent" || (deletion.when === "flagged" && (isFlagged || underWay));
  if (!isEvidence) return { kind: "missing", user_group_id, absence: kind, dueInMs: null };

  const absence = standingAbsence(known, kind, reading) ?? { kind, since: now, at: reading.clock };
  // What was held stays due: the clock stands still meanwhile, and its code has to stay good.
  if (!underWay && held !== "delete" && !isGraceOver(absence, reading.clock, deletion)) {
    const dueInMs = graceLeftMs(absence, reading.clock, deletion);
    return { kind: "missing", user_group_id, absence: kind, dueInMs };
  }
  const failedBefore = hasFailed(failure);
  return unlessWaiting(
    { kind: "delete", user_group_id, absence: kind, underWay, failedBefore },
    failure,
    context,
  );
}

/**
 * In which way a tenant is gone that has no row, or a flagged one. A row that was flagged when it was last seen counts as
 * flagged when it is gone: customers flag a row first and purge it later.
 */
export function absenceKind(
  tenant: FlaggedTenant | undefined,
  known: LedgerGroup,
  { sourceChanged }: Reading,
): AbsenceKind {
  // What another source flags is no better evidence than what it lacks, until it has had the tenant.
  if (sourceChanged || known.absence?.kind === "estranged") return "estranged";
  return tenant || known.absence?.kind === "flagged" ? "flagged" : "absent";
}

/**
 * What was noted of a tenant that is gone in this way. Undefined where nothing was, or by a read that came to nothing:
 * its run ended before the clock went on to there.
 */
export const standingAbsence = (
  { absence }: LedgerGroup,
  kind: AbsenceKind,
  { clock }: Reading,
): Absence | undefined => (absence?.kind === kind && absence.at.ms <= clock.ms ? absence : undefined);

/** The service refused to create it, and nothing is under way: there is no group. */
export const wasNeverMade = ({ fingerprint, intent }: LedgerGroup): boolean =>
  fingerprint === null && intent === null;

/**
 * An update or a rotation was begun, and what is decided on its group now doesn't show what became of it: nobody knows
 * which token is live. A group that was never confirmed has none that anybody was given.
 */
export const isLeftUnderWay = ({ intent, fingerprint }: LedgerGroup, decided: Decision | null): boolean =>
  (intent === "apply" || intent === "rotate") &&
  fingerprint !== null &&
  !(decided?.kind === "create" || decided?.kind === "update" || decided?.kind === "waiting");

function apply(
  kind: Apply["kind"],
  { user_group_id, group, fingerprint, row, dataSourceId }: DesiredTenant,
  known: LedgerGroup | undefined,
  context: DecisionContext,
): Apply | Waiting {
  const intent = known?.intent ?? null;
  // Held back once a removal was begun, the tenant might be without a group.
  const underWay = kind === "replace" ? intendsRemoval(intent) : intent !== null;
  const failure = known?.failure ?? null;
  const failedBefore = hasFailed(failure);
  return unlessWaiting(
    { kind, user_group_id, group, fingerprint, row, dataSourceId, underWay, failedBefore },
    failure,
    context,
  );
}

const hasFailed = (failure: GroupFailure | null): boolean => failure !== null && isOfChange(failure);

/** The change, unless just this one has failed before and its next try is not due. */
function unlessWaiting<C extends Change>(
  change: C,
  failure: GroupFailure | null,
  { now, eager }: DecisionContext,
): C | Waiting {
  if (failure === null || eager || failure.fingerprint !== fingerprintOf(change)) return change;
  const { code, message, retryAt } = failure;
  if (isDue(retryAt, now)) return change;
  const { user_group_id } = change;
  return { kind: "waiting", user_group_id, code, message, retryAt: retryAt.toISOString() };
}
