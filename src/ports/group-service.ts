import type { Group } from "../core/group.ts";
import type { Secret } from "../core/secret.ts";

/** The user group as the service returns it. */
export interface ServiceGroup {
  readonly teamId: number;
  readonly token: Secret;
  readonly name: string;
}

/**
 * The dashboard service. Every method rejects with a ServiceFailure, or with what `beforeSend` throws: it is
 * asked at the last moment, when the request would leave, and nothing is sent then.
 */
export interface GroupService {
  /** GET: creates the group or returns the existing one. Idempotent. */
  getOrCreate(
    group: Group,
    beforeSend?: () => void,
  ): Promise<{ readonly isNew: boolean; readonly group: ServiceGroup }>;
  /** DELETE: removes the group that owns this token. */
  remove(id: string, currentToken: Secret): Promise<void>;
}
