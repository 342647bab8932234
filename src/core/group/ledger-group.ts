import type { FailureKind, GroupFailures } from "../failure/group-failures.ts";
import type { RowDigest } from "./tenant.ts";

/**
 * A mark in the ledger, committed before a call that changes the service. `remove`: the group is deleted, and only its
 * token still has to be removed from the token stores.
 */
export type Intent = "apply" | "replace" | "delete" | "remove" | "rotate";

/** Whether a removal was begun. Until its outcome is recorded, nobody knows whether the group still exists. */
export const intendsRemoval = (intent: Intent | null): boolean => intent === "replace" || intent === "delete";

/** In place of a fingerprint: the service has the group, but in a state that no row asked for. */
export const UNKNOWN_STATE = "unknown";

/** The outcome of a call whose answer didn't show that the service took mapping and properties. */
export type UnverifiedOutcome = "adopted" | "updated";

/** What a plan needs of a `GroupRecord`. A plan reads all groups, so it loads no more of them. */
export interface LedgerGroup {
  readonly user_group_id: string;
  /** Known from the first intent on. */
  readonly bucket: number;
  /** The digest of the row from which the confirmed group was computed; null if none is recorded. */
  readonly digest: RowDigest["digest"] | null;
  /** Of the group as the service last confirmed it, or `UNKNOWN_STATE`; null if the service never confirmed the group. */
  readonly fingerprint: string | null;
  /** How the service confirmed the group, as long as no answer has shown that it took mapping and properties. */
  readonly unverified: UnverifiedOutcome | null;
  /** Committed before a call, and cleared with the call's outcome. */
  readonly intent: Intent | null;
  /** Set while its tenant is gone. */
  readonly absence: Absence | null;
  /** The removal that waits for approval. */
  readonly held: "replace" | "delete" | null;
  readonly failures: GroupFailures;
}

/** Whether `probe` has made the group. No tenant has it, so it is in no count of tenants, and no limit holds its deletion. */
export const isCanary = ({ absence }: Pick<LedgerGroup, "absence">): boolean => absence?.kind === "canary";

/** The ledger went back in time, so what it knows of the group may be outdated; or an operator has asked for a refresh. */
export type Doubt = "rewind" | "operator";

/** Something that is not done for a group. */
export type Owed = "under way" | "leftover" | `failing ${FailureKind}` | "held" | "doubted" | "wanted";

/**
 * How a tenant is gone.
 * - `absent`: complete reads of the source don't have it, and an earlier read of the same source had it.
 * - `flagged`: its row is flagged (`source.removed_when`), or was when it was last seen.
 * - `unseen`: absent or flagged, and never seen present in the source that the config names now.
 * - `canary`: there never was a tenant. `probe` has made the group, to delete it again.
 */
export type AbsenceKind = "absent" | "flagged" | "unseen" | "canary";

export interface Absence {
  readonly kind: AbsenceKind;
  /** For display only: the grace period is counted by `at`. */
  readonly since: Date;
  /** The grace clock when the tenant was first seen to be gone in this way. */
  readonly at: GraceClock;
}

/**
 * A time on the grace clock, which only good reads of the source advance: the time between good reads, and their number.
 */
export interface GraceClock {
  readonly ms: number;
  readonly reads: number;
}
