import type { RowDigest } from "./tenant.ts";

/** What the ledger remembers of a user group, as far as a plan needs it. */
export interface LedgerGroup {
  readonly user_group_id: string;
  /** Of the group that the service last confirmed; null while its creation is under way. */
  readonly fingerprint: string | null;
  /** Of the row that the confirmed group was computed from; null where none was recorded. */
  readonly row: RowDigest | null;
  /** An intent stands: a run ended between the call and the record of it. */
  readonly underWay: boolean;
  /** Which call it was whose answer could not show that the service holds this mapping and these properties. */
  readonly unverified: "adopted" | "updated" | null;
  /** Since when complete reads of the source don't have the tenant. */
  readonly missingSince: Date | null;
  readonly failure: GroupFailure | null;
}

export interface GroupFailure {
  /** Of the desired group that failed: another one is tried at once. */
  readonly fingerprint: string;
  readonly code: string;
  readonly message: string;
  /** In a row. */
  readonly count: number;
  readonly retryAt: Date;
}
