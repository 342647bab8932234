import type { SyncError } from "../../core/failure/sync-error.ts";

/** At most one process of a scope changes groups at a time: the holder of the scope's lease. */
export interface Leases {
  /** Takes a free or expired lease; otherwise says who holds it. */
  acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt>;
  /** Takes the lease from a holder that is known to be dead, unless the lease has changed hands or was renewed since. */
  seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Seizure>;
  /** Resolves to the reason if the lease is lost: LEASE_LOST or LEDGER_REWOUND. */
  renewLease(lease: Lease, ttlMs: number): Promise<SyncError | undefined>;
  releaseLease(lease: Lease): Promise<void>;
}

export interface Lease {
  /** Grows with every change of holder: the fencing token. */
  readonly epoch: string;
}

export interface LeaseHolder extends Lease {
  readonly holder: string;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
}

export type LeaseAttempt =
  | {
      readonly kind: "acquired";
      readonly lease: Lease;
      /**
       * How long ago the former holder's lease expired, in milliseconds by the ledger's clock. Null if that holder released
       * the lease, or if nobody has held it yet.
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

export interface Seizure {
  readonly lease?: Lease;
  /** As in a `LeaseAttempt`. */
  readonly locked?: string;
}
