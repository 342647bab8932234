import type { Group } from "./group.ts";
import { type AbsenceKind, type GroupFailure, type Intent, intendsRemoval } from "./ledger-group.ts";
import { ROTATED } from "./rotation.ts";
import type { RowDigest } from "./tenant.ts";

/** Brings one group to its desired state. */
export type Apply = Upsert | Replace;

/** By one GET. */
export interface Upsert extends DesiredState {
  readonly kind: "create" | "update";
  /** The group is as it should be, and only its token is asked for. */
  readonly restores?: boolean;
}

/** By a DELETE and a GET. */
export interface Replace extends DesiredState {
  readonly kind: "replace";
}

interface DesiredState {
  readonly user_group_id: string;
  readonly group: Group;
  readonly fingerprint: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
  /** A run that ended early may have sent it already. */
  readonly underWay: boolean;
  /** This change, or an earlier one of the group, failed the last time that it was tried. */
  readonly failedBefore: boolean;
}

/** Takes a group away whose tenant is gone. */
export interface Delete {
  readonly kind: "delete";
  readonly user_group_id: string;
  readonly absence: AbsenceKind;
  /** As with an `Apply`. */
  readonly underWay: boolean;
  readonly failedBefore: boolean;
}

/** What is done to one group in the service. */
export type Change = Apply | Delete;

/** A change that takes a group, and its token, away: counted against `deletion.limit`. */
export type Removal = Replace | Delete;

export const isRemoval = (entry: { readonly kind: string }): entry is Removal =>
  entry.kind === "replace" || entry.kind === "delete";

/** The fingerprint of a change, in place of a desired group's, where there is to be no group. */
export const DELETED = "deleted";

/** What a failure is remembered by: only just the same change has to wait for its next try. */
export function fingerprintOf(change: Change): string {
  switch (change.kind) {
    case "create":
    case "update":
      return change.fingerprint;
    case "replace":
      // Where a GET has failed to change the group, replacing it is another matter.
      return `replaced ${change.fingerprint}`;
    case "delete":
      return DELETED;
  }
}

/** Whether it was a change that failed. That a token was not rotated says nothing of those. */
export const isOfChange = ({ fingerprint }: GroupFailure): boolean => fingerprint !== ROTATED;

/** Whether the change asks for a group's token alone: where it fails, that is a failure of the token's copies. */
export const isForToken = (change: Change): boolean =>
  change.kind !== "delete" && change.kind !== "replace" && change.restores === true;

/** What the ledger notes before the change is made, and where another intent stands. */
export function intentOf({ kind }: Change, standing: Intent | null = null): Intent {
  if (kind === "replace" || kind === "delete") return kind;
  // As long as nobody knows whether a removal was done, whatever comes after it must not be held back.
  return intendsRemoval(standing) ? "replace" : "apply";
}
