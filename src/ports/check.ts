import type { ServiceFailureCode } from "../core/failure/service-failure.ts";

/** What came back to a request. */
export interface TrialAnswer {
  readonly status: number;
  readonly content: "json" | "html" | "other";
  /** What a sync would take the answer for; null if it says success. */
  readonly code: ServiceFailureCode | null;
  /** Such as `HTTP 401: unknown key`. Holds no secret. */
  readonly text: string;
}

export interface Reached {
  /** Host and port. */
  readonly at: string;
  /** Null without TLS. */
  readonly tls: { readonly protocol: string; readonly validUntil: Date } | null;
}

/**
 * Tries the way to the service with requests that can change no group. Each rejects with a ServiceFailure if no complete
 * answer came.
 */
export interface ServiceTrial {
  /** Looks the host up, connects, and shakes hands. Sends no request. */
  reach(): Promise<Reached>;
  /** A GET with a body, which names no group, and a key that is wrong on purpose: with a good key it could create a group. */
  getWithWrongKey(): Promise<TrialAnswer>;
  /** A POST with the real key and a random token, which no group has. */
  rotateNobody(): Promise<TrialAnswer>;
  close(): Promise<void>;
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
