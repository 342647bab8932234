import type { Group } from "../group/group.ts";
import { type AbsenceKind, type Intent, intendsRemoval } from "../group/ledger-group.ts";
import type { RowDigest } from "../group/tenant.ts";

/** Brings a group to its desired state. */
export type Apply = Upsert | Replace;

/** Creates or updates a group by one GET. */
export interface Upsert extends DesiredState {
  readonly kind: "create" | "update";
  /** The group is already as desired. The GET is sent only to get the token. */
  readonly restores?: boolean;
  /** The group is already as desired, as far as the ledger knows. The GET is sent to see whether the service still has it so. */
  readonly refreshes?: boolean;
}

/** Replaces a group by a new one: a DELETE, then a GET. */
export interface Replace extends DesiredState {
  readonly kind: "replace";
}

interface DesiredState {
  readonly user_group_id: string;
  readonly group: Group;
  readonly fingerprint: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
  /** A run that ended early may have sent this change already. */
  readonly underWay: boolean;
  /** The last try to change this group failed. */
  readonly failedBefore: boolean;
}

/** Deletes a group whose tenant is gone, or whose scope is to be forgotten. */
export interface Delete {
  readonly kind: "delete";
  readonly user_group_id: string;
  readonly absence: AbsenceKind | "forgotten";
  /** `underWay` and `failedBefore` as for an `Apply`. */
  readonly underWay: boolean;
  readonly failedBefore: boolean;
  /** The operator named the tenant: neither the grace period nor the limit holds the deletion, and it doesn't count in the limit. */
  readonly skipsGrace?: boolean;
}

/** What is done to one group in the service. */
export type Change = Apply | Delete;

/** Gives a group a new token by a POST. */
export interface Rotate {
  readonly kind: "rotate";
  readonly user_group_id: string;
}

/** What calls are sent for. */
export type Step = Change | Rotate;

/** A change that ends a group and its token. */
export type Removal = Replace | Delete;

export const isRemoval = (entry: { readonly kind: string }): entry is Removal =>
  entry.kind === "replace" || entry.kind === "delete";

/** Whether the limit doesn't hold the removal: an earlier run began it, or the operator named the tenant. */
export const isClear = (removal: Removal): boolean =>
  removal.underWay || (removal.kind === "delete" && removal.skipsGrace === true);

/** What `fingerprintOf` returns for every deletion. */
export const DELETED = "deleted";

/** Identifies a change. After a failure, only the same change waits for its next try; another change is tried at once. */
export function fingerprintOf(change: Change): string {
  switch (change.kind) {
    case "create":
    case "update":
      return change.fingerprint;
    case "replace":
      // If an update by GET failed, replacing the group may still succeed, so it must not wait.
      return `replaced ${change.fingerprint}`;
    case "delete":
      return DELETED;
  }
}

/** Whether the group itself is to stay as it is: the GET is sent for its token, or to look at it. Its failure counts as `storing` in `GroupFailures`. */
export const isForToken = (change: Change): boolean => isRestored(change) || isRefresh(change);

export const isRefresh = (change: Change): boolean =>
  change.kind !== "delete" && change.kind !== "replace" && change.refreshes === true;

/** Whether the change is made because a store lacks the group's token. */
export const isRestored = (change: Change): boolean =>
  change.kind !== "delete" && change.kind !== "replace" && change.restores === true;

/** The intent to record before the change. `standing` is the intent that an earlier run left. */
export function intentOf(change: Step, standing: Intent | null = null): Intent {
  const { kind } = change;
  if (kind === "rotate") return standing ?? kind;
  if (kind === "replace" || kind === "delete") return kind;
  if (standing === "rotate" && isForToken(change)) return standing;
  // An earlier run's DELETE may have removed the group. Record a replacement, because a replacement under way is never held.
  return intendsRemoval(standing) ? "replace" : "apply";
}
