import type { Finding } from "../core/report/finding.ts";

/** One subject of `groupsync check`, such as the ledger. It needs no other check, and leaves everything as it was. */
export interface Check {
  readonly name: string;
  /**
   * Looks, and tells what it finds as soon as it is found. An error that it throws is its last finding. Once `stop` aborts,
   * it ends as soon as it can.
   */
  find(stop: AbortSignal): AsyncIterable<Finding>;
}

/** A connection that a sync has open at the same time as others. */
export interface SyncConnection {
  /** What the sync needs it for, in words. */
  readonly for: string;
  /** Without it, only a read that outlasts the lease fails. */
  readonly isSpare?: boolean;
  /** Connects and begins a transaction, as a sync does. Resolves to what ends both. Rejects as the sync would. */
  open(stop: AbortSignal): Promise<() => Promise<void>>;
}

/** Who listens at an address. */
export type AddressUse =
  | { readonly kind: "free" }
  /** A daemon of groupsync. `name` is its scope. */
  | { readonly kind: "groupsync"; readonly name: string }
  /** The address can't be taken. */
  | { readonly kind: "refused"; readonly reason: string };

/** Tries whether this process could listen at an address. Never rejects. */
export interface AddressTrial {
  use(host: string, port: number): Promise<AddressUse>;
}
