import { NO_FAILURES } from "../failure/group-failures.ts";
import type { Group } from "../group/group.ts";
import type { Doubt, LedgerGroup } from "../group/ledger-group.ts";

/**
 * All that the ledger keeps of one group: one row. Only `next` makes a record from a record; a ledger loads and saves
 * records, and decides nothing.
 */
export interface GroupRecord extends LedgerGroup {
  /** The group as the service last confirmed it. */
  readonly confirmed: Group | null;
  /** The name as the service last gave it back; null if it never did. */
  readonly serviceName: string | null;
  /** Sent in a DELETE, if the config gives one. */
  readonly dataSourceId: string | null;
  /** Of the token that the service last told; null if it never told one. */
  readonly tokenFingerprint: string | null;
  readonly tokenSince: Date | null;
  /** Since when somebody wants a new token for the group; null if nobody does. */
  readonly wantedSince: Date | null;
  /** `name`: `rotate --only` named the group. `choice`: `--all` or `--older-than` chose it. */
  readonly wantedBy: "name" | "choice" | null;
  /** Of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken: string | null;
  /** When a GET last told the group's name and token, and both were compared; null if none has. */
  readonly verifiedAt: Date | null;
  /** Why the service has to be asked for the group again; null if it needn't be. */
  readonly doubt: Doubt | null;
  readonly intentAt: Date | null;
  /** Fingerprint of the group that the intent means to make; null if there are several, or none. */
  readonly intended: string | null;
  /** The base_url at which a probe has made the group; null for any other group. */
  readonly canaryAt: string | null;
  /** When the ledger first recorded an intent for the group. */
  readonly createdAt: Date;
  /** When the ledger last recorded what came of a change, or the first intent. */
  readonly changedAt: Date;
}

/** Why a group is in doubt, for an operator. */
export const DOUBT_TEXT: Readonly<Record<Doubt, string>> = {
  rewind: "the ledger went back in time",
  operator: "somebody ran sync --refresh",
};

/** A group about which nothing is known but its bucket. */
export const newRecord = (user_group_id: string, bucket: number, now: Date): GroupRecord => ({
  user_group_id,
  bucket,
  digest: null,
  fingerprint: null,
  confirmed: null,
  serviceName: null,
  dataSourceId: null,
  unverified: null,
  tokenFingerprint: null,
  tokenSince: null,
  wantedSince: null,
  wantedBy: null,
  sharedToken: null,
  verifiedAt: null,
  doubt: null,
  intent: null,
  intentAt: null,
  intended: null,
  absence: null,
  held: null,
  failures: NO_FAILURES,
  canaryAt: null,
  createdAt: now,
  changedAt: now,
});

/** Whether no group exists: the service refused to create it, and nothing is under way. */
export const isNeverMade = ({ fingerprint, intent }: Pick<LedgerGroup, "fingerprint" | "intent">): boolean =>
  fingerprint === null && intent === null;
