import type { Group } from "../group/group.ts";
import { type Doubt, intendsRemoval, UNKNOWN_STATE } from "../group/ledger-group.ts";
import type { RowDigest } from "../group/tenant.ts";
import type { RotationCandidate } from "../rotation/rotation-policy.ts";
import { AT_REST, restOf } from "./owes.ts";
import type { GroupRecord } from "./record.ts";

/** In characters. */
const LONGEST_NAME = 200;

/** The names that the service last gave back for these groups, as far as they are known. */
export const namesOf = (records: ReadonlyMap<string, GroupRecord>): ReadonlyMap<string, string> =>
  new Map(
    [...records].flatMap(([id, { serviceName }]): [string, string][] =>
      serviceName === null ? [] : [[id, [...serviceName].slice(0, LONGEST_NAME).join("")]],
    ),
  );

/** In characters. */
const LONGEST_KEY = 64;

/** By which names are compared: without regard to case, accents and blanks, and no further than their first characters. */
export function nameKey(name: string): string {
  // Only upper case makes "ß" and "SS" the same, and only after lower case is "ẞ" the same too.
  const letters = name
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase()
    .toUpperCase();
  const words = letters.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return [...words].slice(0, LONGEST_KEY).join("").toWellFormed();
}

/** Of the name that the service last gave back, or else of the confirmed one; null if neither is known. */
export function nameKeyOf({ serviceName, confirmed }: GroupRecord): string | null {
  const name = serviceName ?? confirmed?.name;
  return name === undefined ? null : nameKey(name);
}

/** A group as the service last confirmed it. */
export interface ConfirmedGroup {
  readonly group: Group;
  readonly fingerprint: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
}

/** A list of groups that a sync works through, and its order. Of groups that are equal in it, the order of the ids decides. */
export type CandidateList =
  /** Groups that the service has or may have, in the order of the ids, without canaries. */
  | (GroupSelection & { readonly kind: "existing" })
  /** Groups that owe something, or whose removal is held, in the order of the ids. */
  | { readonly kind: "owing" | "held" }
  /** Groups whose ids begin with this text, in the order of the ids. */
  | { readonly kind: "id begins"; readonly text: string }
  /** Groups whose names begin with this text, in the order of `nameKey`, by which they are compared. */
  | { readonly kind: "name begins"; readonly text: string }
  /** Groups for which `failingSince` is not null, those that fail for longest first. */
  | { readonly kind: "failing" }
  /**
   * Groups whose tokens the ledger vouches for, see `isVouchedFor`, in the order of the ids: all, those whose tokens are known to
   * be missing in a store, or those with these ids.
   */
  | { readonly kind: "vouched"; readonly of: "all" | "not everywhere" | readonly string[] }
  /** Groups for which `rotationCandidate` is not null, the oldest token first. */
  | (DueTokens & { readonly kind: "rotatable" })
  /** Groups for which `refreshCandidate` is not null, in the order of `lastVerified`. */
  | (Unverified & { readonly kind: "refreshable"; readonly of?: readonly string[] | undefined });

/** Which of the groups that were made or have anything under way. */
export interface GroupSelection {
  /** Only groups with these ids. */
  readonly of?: readonly string[] | undefined;
  /**
   * Only groups whose token has been live since this time or longer. A token that nobody has seen is as old as the
   * intent to make its group.
   */
  readonly liveSince?: Date | undefined;
  /** Only groups whose new token is wanted. */
  readonly isWanted?: boolean | undefined;
  /** Only groups whose deletion or replacement is under way. */
  readonly isRemovalUnderWay?: boolean | undefined;
}

export interface DueTokens {
  /**
   * Tokens to be replaced because a new one is wanted, or because they have been live since this time or longer and no new one
   * is wanted.
   */
  readonly due: "wanted by name" | "wanted" | Date;
  /** Only groups with these ids. */
  readonly of?: readonly string[] | undefined;
}

/** Groups of which `lastVerified` is before `since` or after `now`. A later time tells nothing: a clock was ahead. */
export interface Unverified {
  readonly since: Date;
  readonly now: Date;
}

/** Only groups in doubt. */
export const DOUBTED: Unverified = { since: new Date(2), now: new Date("9999-01-01T00:00:00Z") };

const NEVER: Readonly<Record<Doubt, Date>> = { rewind: new Date(0), operator: new Date(1) };

/** When the group was verified. A group in doubt counts as never verified, and comes first: after a rewind its token may be dead. */
export const lastVerified = ({ doubt, verifiedAt }: GroupRecord): Date | null =>
  doubt === null ? verifiedAt : NEVER[doubt];

export function isUnverified(record: GroupRecord, { since, now }: Unverified): boolean {
  const at = lastVerified(record);
  return at !== null && (at < since || at > now);
}

/** Null if the service never confirmed the group. By now the group may be in another state, see `UNKNOWN_STATE`. */
export function confirmedGroup({
  confirmed,
  fingerprint,
  bucket,
  digest,
  dataSourceId,
}: GroupRecord): ConfirmedGroup | null {
  if (confirmed === null || digest === null || fingerprint === null) return null;
  return { group: confirmed, fingerprint, row: { bucket, digest }, dataSourceId };
}

/** Null if nobody knows the state of the group at the service: a GET could then change the group. */
export const knownGroup = (record: GroupRecord): ConfirmedGroup | null =>
  record.fingerprint === UNKNOWN_STATE ? null : confirmedGroup(record);

/** Whether the group has a token that has to be in the token stores: it is known, and no call may have changed it. */
export const isVouchedFor = ({ tokenFingerprint, fingerprint, intent, absence }: GroupRecord): boolean =>
  tokenFingerprint !== null && fingerprint !== null && intent === null && absence === null;

/** What a refresh sends for the group. Null if anything else is to be done about the group, or nobody knows its state. */
export const refreshCandidate = (record: GroupRecord): ConfirmedGroup | null =>
  record.held !== null || restOf(record) === AT_REST.no ? null : knownGroup(record);

/**
 * Null if no rotation may begin. A token that is only old waits while its tenant is gone, or while an update is under way. A token
 * that somebody wants to be rid of doesn't, as long as a GET can tell the live one.
 */
export function rotationCandidate(record: GroupRecord): RotationCandidate | null {
  const { user_group_id, tokenSince, wantedSince, absence, intent, confirmed, failures } = record;
  const mayBegin =
    wantedSince === null
      ? absence === null && (intent === null || intent === "rotate")
      : intent === null || (confirmed !== null && !intendsRemoval(intent));
  if (tokenSince === null || !mayBegin) return null;
  // A store that refuses the group's token refuses a new one as well.
  return { user_group_id, tokenSince, failure: failures.storing ?? failures.rotation };
}
