import type { Drift } from "../drift/drift.ts";
import type { Failure } from "../failure/sync-error.ts";
import { type Apply, type Change, type Delete, isRefresh } from "../plan/change.ts";
import type { Secret } from "../secret/secret.ts";

/** What became of a planned change, ready to be recorded. */
export type Outcome = Applied | NotUpdated | Deleted | Failed;

/** The service has the group as sent, and `token` is its live token. */
export interface Applied {
  readonly kind: "created" | "adopted" | "updated" | "replaced";
  /** The answer says that this call has made the group, and so its token. */
  readonly isNew: boolean;
  readonly change: Apply;
  readonly token: Secret;
  /** The name in the service's answer. */
  readonly serviceName: string;
  readonly unverified: boolean;
  /** What somebody else had changed at the service. */
  readonly drift?: readonly Drift[];
}

/** The service kept the group as it was before the change. The token in its answer is valid. */
export interface NotUpdated {
  readonly kind: "not_updated";
  readonly isNew: boolean;
  readonly change: Apply;
  readonly token: Secret;
  readonly serviceName: string;
  /** The group has another name than the service confirmed last, or the service never confirmed one. */
  readonly isUnknownState: boolean;
  /** An earlier run deleted the group, and a later call made it again: that counts as a removal. */
  readonly wasRemoved: boolean;
  readonly drift?: readonly Drift[];
  /** Null if the tenant is gone: nobody wants the group otherwise. */
  readonly failure: Failure | null;
}

/** The service doesn't have the group any more. */
export interface Deleted {
  readonly kind: "deleted";
  readonly change: Delete;
}

export interface Failed {
  readonly kind: "failed";
  readonly change: Change;
  readonly failure: Failure;
  /** The service may have carried out a call: the intent stays until a later call shows whether it did. */
  readonly mayHaveHappened: boolean;
  /** No call of this run had an effect. What an earlier run has left under way stays under way as it was. */
  readonly isAsBefore?: boolean;
  /** The pause that the service asked for, in milliseconds. */
  readonly retryAfterMs?: number;
  /** What the answer told, although its token is not stored. */
  readonly drift?: readonly Drift[];
}

/**
 * What the guard of refreshes counts: a group that was gone, and that a GET has made again, perhaps one that a refresh left under
 * way; or another token.
 */
export function foundByRefresh(outcome: Outcome): "gone" | "token" | null {
  const drift = ("drift" in outcome && outcome.drift) || [];
  if (drift.includes("gone")) return "gone";
  return drift.includes("token") && isRefresh(outcome.change) ? "token" : null;
}
