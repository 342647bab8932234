import type { Group } from "../core/group.ts";
import type { Secret } from "../core/secret.ts";

/** The user group as the service returns it. */
export interface ServiceGroup {
  readonly teamId: number;
  readonly token: Secret;
  readonly name: string;
}

/** What a DELETE names: which of these the service goes by is its own affair. */
export interface RemovableGroup {
  readonly user_group_id: string;
  readonly token: Secret;
  /** Null where the config gives none. */
  readonly dataSourceId: string | null;
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
  /** POST: gives the group a new token, and ends the old one at once. Not idempotent. */
  rotate(id: string, currentToken: Secret, beforeSend?: () => void): Promise<ServiceGroup>;
  /** DELETE: removes a group. Idempotent in its effect, though not in its answer: a group that is gone is refused. */
  remove(group: RemovableGroup, beforeSend?: () => void): Promise<void>;
}
