/**
 * What one process asks of the holder of the lease, for which it needs no lease. A request counts until it is withdrawn, by
 * whoever has made it or by the holder, and for `ttlMs` milliseconds by the ledger's clock at most.
 */
export interface Requests {
  /**
   * Asks the holder to serve one tenant, or, if that is null, to hand the lease over. A request that waits for the tenant already
   * is replaced, and keeps its place. `requester` names this process. Resolves to "" if the ledger has no tables yet, and so
   * keeps no request.
   */
  putRequest(user_group_id: string | null, requester: string, ttlMs: number): Promise<RequestId>;
  dropRequests(ids: readonly RequestId[]): Promise<void>;
  /** In the order in which they were made, those for the lease first: a thousand at most. */
  requests(): Promise<readonly LedgerRequest[]>;
}

export type RequestId = string;

export interface LedgerRequest {
  readonly id: RequestId;
  readonly requester: string;
  /** Null if the lease is asked for. */
  readonly user_group_id: string | null;
}
