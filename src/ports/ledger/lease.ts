import type { SyncError } from "../../core/failure/sync-error.ts";

/** At most one process of a scope changes groups at a time: the holder of the scope's lease. */
export interface Leases {
  /** Takes a free or expired lease; otherwise says who holds it. */
  acquireLease(holder: string, ttlMs: number, terms?: LeaseTerms): Promise<LeaseAttempt>;
  /** Resolves to the reason if the lease is lost: LEASE_LOST or LEDGER_REWOUND. */
  renewLease(lease: Lease, ttlMs: number): Promise<SyncError | undefined>;
  releaseLease(lease: Lease): Promise<void>;
}

export interface LeaseTerms {
  /** As in a `LeaseHolder`; left out: null. */
  readonly handOverMs?: number | null;
  /** A holder that is known to be dead: its lease is taken too, unless it was renewed since. */
  readonly dead?: LeaseHolder;
}

export interface Lease {
  /** Grows with every change of holder: the fencing token. */
  readonly epoch: string;
}

export interface LeaseHolder extends Lease {
  readonly holder: string;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  /**
   * How long one call of the holder can take, in milliseconds, if it hands the lease over once its calls have ended, as soon as
   * another process asks for that. Null if it doesn't.
   */
  readonly handOverMs: number | null;
}

export type LeaseAttempt =
  | {
      readonly kind: "acquired";
      readonly lease: Lease;
      /**
       * How long ago the former holder's lease expired, in milliseconds by the ledger's clock. Null if that holder released
       * the lease, or if nobody has held it yet; 0 if the lease was taken from a dead holder before it expired.
       */
      readonly abandonedMs: number | null;
    }
  | {
      readonly kind: "held";
      readonly by: LeaseHolder;
      /** Who keeps the lease's row locked, in words. As long as the row is locked, nobody can take even an expired lease. */
      readonly locked?: string;
    }
  /** Nobody holds the lease, and nobody can take it: somebody keeps its row, its table or the whole database locked. */
  | { readonly kind: "locked"; readonly error: SyncError };
