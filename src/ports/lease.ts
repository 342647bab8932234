import type { SyncError } from "../core/errors.ts";

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
       * For how many milliseconds the lease of a holder that never gave it back had been over, by the ledger's clock. Null
       * where it was given back, and where nobody had it.
       */
      readonly abandonedMs: number | null;
    }
  | {
      readonly kind: "held";
      readonly by: LeaseHolder;
      /** Who keeps the lease's row locked, in words: nobody could take the lease, whether it has expired or not. */
      readonly locked?: string;
    }
  /** Nobody has it, and nobody can take it: somebody keeps its row locked, or its table, or the whole database. */
  | { readonly kind: "locked"; readonly error: SyncError };

export interface Seizure {
  readonly lease?: Lease;
  /** As in a `LeaseAttempt`. */
  readonly locked?: string;
}
