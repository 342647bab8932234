import type { Group } from "./group.ts";
import type { LedgerGroup } from "./ledger-group.ts";
import type { DesiredTenant, RejectedTenant, RowDigest, Tenant } from "./tenant.ts";

/** How a changed group is brought up to date (`service.update`). */
export type UpdatePolicy = "upsert" | "replace" | "never";

/** A GET that brings one group up to date. */
export interface Apply {
  readonly kind: "create" | "update";
  readonly user_group_id: string;
  readonly group: Group;
  readonly fingerprint: string;
  readonly row: RowDigest;
  /** A run that ended early may have sent it already. */
  readonly underWay: boolean;
}

/** A group that failed with just this desired state, and whose next try is not due. */
export interface Waiting {
  readonly kind: "waiting";
  readonly user_group_id: string;
  readonly code: string;
  readonly message: string;
  /** ISO 8601: plans are written down as JSON. */
  readonly retryAt: string;
}

/** Notes for the ledger alone. */
export type Note = PresenceNote | SettledNote;

/** The tenant went missing, or came back. */
export interface PresenceNote {
  readonly kind: "missing" | "returned";
  readonly user_group_id: string;
}

/** The group is what it should be, whatever was noted before; and this is its row by now. */
export interface SettledNote {
  readonly kind: "settled";
  readonly user_group_id: string;
  readonly row: RowDigest;
}

/** A changed group that `service.update: never` leaves alone. */
export interface Outdated {
  readonly kind: "outdated";
  readonly user_group_id: string;
}

/** What may have to be done about a tenant, or said of it. */
export type Decision = Apply | Waiting | Outdated | RejectedTenant;

export type PlanEntry = Decision | Note;

export interface DecisionContext {
  readonly now: Date;
  readonly update: UpdatePolicy;
  /** Whether the service is known to change an existing group on GET; null until it has been seen. */
  readonly serviceUpdates: boolean | null;
  /** Named by the operator: failed groups are tried whether or not their time has come. */
  readonly eager: boolean;
}

/**
 * What is to be done about one id. Null where nothing is.
 *
 * | tenant   | in the ledger                     | decision                           |
 * |----------|-----------------------------------|------------------------------------|
 * | rejected | any                               | rejected; its group stays as it is |
 * | absent   | any                               | nothing: see `noteOn`              |
 * | desired  | unknown, or never confirmed       | create                             |
 * | desired  | another fingerprint, or under way | update                             |
 * | desired  | updated unverified, and GET never | update                             |
 * |          | updates                           |                                    |
 * | desired  | the same fingerprint              | nothing                            |
 *
 * A create or update that has failed before is waiting until its next try is due.
 */
export function decide(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  context: DecisionContext,
): Decision | null {
  if (tenant === undefined) return null;
  if (tenant.kind === "rejected") return tenant;
  if (known === undefined || known.fingerprint === null) return apply("create", tenant, known, context);
  if (known.underWay) return apply("update", tenant, known, context);
  if (
    known.fingerprint !== tenant.fingerprint ||
    (known.unverified === "updated" && context.serviceUpdates === false)
  ) {
    if (context.update === "never") return { kind: "outdated", user_group_id: tenant.user_group_id };
    return apply("update", tenant, known, context);
  }
  return null;
}

/**
 * What the ledger has to note, beside what is decided. A row counts as present even where no group can be
 * computed from it: the next absence has a grace period of its own.
 */
export function noteOn(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  decided: Decision | null,
): Note | null {
  if (known === undefined) return null;
  const { user_group_id, missingSince, failure } = known;
  if (tenant === undefined) return missingSince === null ? { kind: "missing", user_group_id } : null;
  if (decided === null && tenant.kind === "desired") {
    const asNoted = missingSince === null && failure === null && sameRow(known.row, tenant.row);
    return asNoted ? null : { kind: "settled", user_group_id, row: tenant.row };
  }
  return missingSince === null ? null : { kind: "returned", user_group_id };
}

const sameRow = (a: RowDigest | null, b: RowDigest): boolean =>
  a?.digest === b.digest && a.bucket === b.bucket;

function apply(
  kind: Apply["kind"],
  { user_group_id, group, fingerprint, row }: DesiredTenant,
  known: LedgerGroup | undefined,
  context: DecisionContext,
): Apply | Waiting {
  const failure = known?.failure;
  if (failure && !context.eager && failure.fingerprint === fingerprint && failure.retryAt > context.now) {
    const { code, message, retryAt } = failure;
    return { kind: "waiting", user_group_id, code, message, retryAt: retryAt.toISOString() };
  }
  return { kind, user_group_id, group, fingerprint, row, underWay: known?.underWay ?? false };
}
