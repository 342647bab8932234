import type { Lease } from "./lease.ts";

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
