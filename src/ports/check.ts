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
