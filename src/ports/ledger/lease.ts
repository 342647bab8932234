import type { SyncError } from "../../core/failure/sync-error.ts";

/** At most one process of a scope changes groups at a time: the holder of the scope's lease. */
export interface Leases {
  /** Takes a free or expired lease; otherwise says who holds it. */
  acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt>;
  /** Takes the lease from a holder that is known to be dead, unless the lease has changed hands or was renewed since. */
  seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Seizure>;
  /** Resolves to false if the lease is lost. */
  renewLease(lease: Lease, ttlMs: number): Promise<boolean>;
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

/**
 * What one process asks of the holder of the lease, for which it needs no lease. A request counts until it is withdrawn, by
 * whoever has made it or by the holder, and for `ttlMs` milliseconds by the ledger's clock at most.
 */
export interface Requests {
  /** Asks the holder to hand the lease over. `requester` names this process. Rejects if the ledger can't keep requests yet. */
  requestLease(requester: string, ttlMs: number): Promise<RequestId>;
  /**
   * Asks the holder to serve one tenant. A request that waits for the tenant already is replaced, and keeps its place. Resolves
   * to "" if the ledger has no tables yet, and so keeps no request.
   */
  requestTenant(user_group_id: string, requester: string, ttlMs: number): Promise<RequestId>;
  withdrawRequests(ids: readonly RequestId[]): Promise<void>;
  /** In the order in which they were made: a thousand requests at most, the lease's first. */
  openRequests(): Promise<OpenRequests>;
  /** Tells others that the holder of this lease hands it over on request, and how long one of its calls can take. */
  offerHandOver(lease: Lease, callMs: number): Promise<void>;
  /** Null if nobody holds the lease, or if its holder doesn't hand it over. */
  handOver(): Promise<HandOver | null>;
}

export type RequestId = string;

export interface LeaseRequest {
  readonly id: RequestId;
  readonly requester: string;
}

export interface TenantRequest extends LeaseRequest {
  readonly user_group_id: string;
}

export interface OpenRequests {
  readonly lease: readonly LeaseRequest[];
  readonly tenants: readonly TenantRequest[];
}

export interface HandOver extends Lease {
  /** The longest that one call of the holder can take. */
  readonly callMs: number;
}
