import type { FailureCounts } from "../../core/failure/group-failures.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import type { Intent } from "../../core/group/ledger-group.ts";
import type { RotationCandidate } from "../../core/rotation/rotation-policy.ts";

export interface RotationReads {
  /**
   * A page of the groups whose tokens `rotation.max_age` may rotate, the oldest token first: confirmed groups of present
   * tenants that have nothing but a rotation under way.
   */
  rotatable(options: RotatableOptions): Promise<readonly RotationCandidate[]>;
  /** How many groups `rotatable` returns over all pages. */
  rotatableCount(until: Date): Promise<number>;
  /** For each of these times, how many groups have a token that has been live since then or longer. */
  tokensLiveSince(times: readonly Date[]): Promise<readonly number[]>;
}

export interface RotationWrites {
  /**
   * Records the intent of a rotation, unless another change is under way. Returns what the ledger knew; undefined if it has
   * no such group.
   */
  beginRotation(id: string, now: Date): Promise<KnownToken | undefined>;
  /** Takes the intent back: nothing was sent. */
  withdrawRotation(id: string): Promise<void>;
  recordRotation(result: RotationResult, now: Date): Promise<void>;
}

export interface RotatableOptions {
  /** Return only tokens that have been live since this time or longer. */
  readonly until: Date;
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this one. */
  readonly after?: RotationCandidate | undefined;
}

/** What the ledger knew when a rotation began. */
export interface KnownToken {
  /** Null if the service never told a token. */
  readonly tokenFingerprint: string | null;
  /** The intent of an earlier run. */
  readonly intent: Intent | null;
  readonly failures: FailureCounts;
}

export interface RotationResult {
  readonly user_group_id: string;
  /** Of the token that is live and stored; null if no token is known to be both. */
  readonly tokenFingerprint: string | null;
  /**
   * Null if nothing failed. That clears an earlier failure only if the token has changed: as long as the old token is live,
   * the rotation is still to be done.
   */
  readonly failure: (Failure & { readonly retryAt: Date }) | null;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
  /** This rotation, or an earlier run's change, is still under way: the intent stays. */
  readonly isOpen: boolean;
}
