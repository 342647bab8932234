import type { Intent } from "../core/ledger-group.ts";
import type { Failure } from "../core/outcome.ts";
import type { RotationCandidate } from "../core/rotation.ts";

export interface ExistingOptions {
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this id. */
  readonly after?: string | undefined;
  /** Of these alone. */
  readonly of?: readonly string[] | undefined;
  /** Only tokens that are live since then, or longer; one that nobody has seen is as old as the intent to make it. */
  readonly liveSince?: Date | undefined;
  /** Only those of which anything is under way, or anything but a rotation. */
  readonly underWay?: "anything" | "another change" | undefined;
}

export interface RotatableOptions {
  /** Only tokens that are live since then, or longer. */
  readonly until: Date;
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this one. */
  readonly after?: RotationCandidate | undefined;
}

/** What the ledger knew when a rotation began. */
export interface KnownToken {
  /** Null where the service never told one. */
  readonly tokenFingerprint: string | null;
  /** The intent that stood already. */
  readonly intent: Intent | null;
  /** In a row, so far. */
  readonly failures: number;
}

export interface RotationResult {
  readonly user_group_id: string;
  /** Of the token that is live and stored; null where that isn't known. */
  readonly tokenFingerprint: string | null;
  /** Null where the rotation is done. */
  readonly failure: (Failure & { readonly retryAt: Date }) | null;
  /** Fingerprint of the token that the service has told for the group, and that belongs to another one. */
  readonly sharedToken?: string;
  /** Something is under way still, be it this call or an earlier run's change: the intent stays. */
  readonly isOpen: boolean;
}
