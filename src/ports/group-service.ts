import type { Group } from "../core/group/group.ts";
import type { Secret } from "../core/secret/secret.ts";

export type ServiceMethod = "GET" | "POST" | "DELETE";

/** The user group as the service returns it. */
export interface ServiceGroup {
  readonly teamId: number;
  readonly token: Secret;
  readonly name: string;
}

export interface GetAnswer {
  readonly isNew: boolean;
  readonly group: ServiceGroup;
}

/** What a DELETE sends. The service decides which of these values it needs. */
export interface RemovableGroup {
  readonly user_group_id: string;
  readonly token: Secret;
  /** Null if the config gives none. */
  readonly dataSourceId: string | null;
}

/** What a connection to the service shows, before any request. */
export interface ReachedService {
  /** Host and port. */
  readonly at: string;
  /** Null without TLS. */
  readonly tls: { readonly protocol: string; readonly validUntil: Date } | null;
}

/**
 * The dashboard service. Every method calls `beforeSend` at the last moment before it sends the request; if `beforeSend`
 * throws, nothing is sent and the method rejects with that error. Every other failure is a ServiceFailure.
 */
export interface GroupService {
  /** GET: creates the group or returns the existing group. Idempotent. */
  getOrCreate(group: Group, beforeSend?: () => void): Promise<GetAnswer>;
  /** POST: gives the group a new token; the old token dies at once. Not idempotent. */
  rotate(id: string, currentToken: Secret, beforeSend?: () => void): Promise<ServiceGroup>;
  /** DELETE: removes a group. Idempotent in its effect, but not in its answer: the service refuses a group that is gone. */
  remove(group: RemovableGroup, beforeSend?: () => void): Promise<void>;
  /** GET with a body that names no group, and a wrong key. Changes nothing: its failure shows whether a GET with a body passes. */
  getWithWrongKey(beforeSend?: () => void): Promise<void>;
  /** POST with a random token, which no group has. Changes nothing: its failure shows whether the service takes the API key. */
  rotateNobody(beforeSend?: () => void): Promise<void>;
}
