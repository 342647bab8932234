import type { RowDigest } from "./tenant.ts";

/**
 * A call that changes the service, committed to before it is made. `remove`: the group is deleted, and only its token is
 * left to be removed from where it is stored.
 */
export type Intent = "apply" | "replace" | "delete" | "remove" | "rotate";

/** A removal was begun: until its outcome is recorded, nobody knows whether there still is a group. */
export const intendsRemoval = (intent: Intent | null): boolean => intent === "replace" || intent === "delete";

/** In place of a fingerprint: the service has the group in a state that nobody asked for. */
export const UNKNOWN_STATE = "unknown";

/** What the ledger remembers of a user group, as far as a plan needs it. */
export interface LedgerGroup {
  readonly user_group_id: string;
  /** Of the group that the service last confirmed, or `UNKNOWN_STATE`; null while its creation is under way. */
  readonly fingerprint: string | null;
  /** Of the row that the confirmed group was computed from; null where none was recorded. */
  readonly row: RowDigest | null;
  /** The intent that stands: a run ended between the call and the record of it. */
  readonly intent: Intent | null;
  /** Which call it was whose answer could not show that the service holds this mapping and these properties. */
  readonly unverified: "adopted" | "updated" | null;
  /** Set while its tenant is gone. */
  readonly absence: Absence | null;
  /** What is due and waits for approval. */
  readonly held: "replace" | "delete" | null;
  readonly failure: GroupFailure | null;
}

/**
 * How a tenant is gone.
 * - `absent`: complete reads don't have it, and one of the same source had.
 * - `flagged`: its row says so (`source.removed_when`), or did when it was last seen.
 * - `estranged`: it is either, and was never seen to be there since the config names the present source.
 */
export type AbsenceKind = "absent" | "flagged" | "estranged";

export interface Absence {
  readonly kind: AbsenceKind;
  /** For people: the clock below is what counts. */
  readonly since: Date;
  /** What the healthy clock said when it was first seen to be gone in this way. */
  readonly at: HealthyTime;
}

/**
 * A point on the clock that only reads advance whose result can be relied on: how much time lay between
 * such reads, and how many there were.
 */
export interface HealthyTime {
  readonly ms: number;
  readonly reads: number;
}

export interface GroupFailure {
  /** Of the change that failed: another one is tried at once. */
  readonly fingerprint: string;
  readonly code: string;
  readonly message: string;
  /** In a row. */
  readonly count: number;
  readonly retryAt: Date;
}
