import type { Apply, Change, Delete } from "./change.ts";
import type { Secret } from "./secret.ts";

/** What became of one change in this run, ready to be recorded. */
export type Outcome = Applied | NotUpdated | Deleted | Failed;

/** The service took the group, and this is its live token. */
export interface Applied {
  readonly kind: "created" | "adopted" | "updated" | "replaced";
  readonly change: Apply;
  readonly token: Secret;
  /** The name as the service gave it back. */
  readonly serviceName: string;
  readonly unverified: boolean;
}

/** The service kept an older state of the group; its token is good all the same. */
export interface NotUpdated {
  readonly kind: "not_updated";
  readonly change: Apply;
  readonly token: Secret;
  readonly serviceName: string;
  readonly failure: Failure;
}

/** The service has no such group any more. */
export interface Deleted {
  readonly kind: "deleted";
  readonly change: Delete;
}

export interface Failed {
  readonly kind: "failed";
  readonly change: Change;
  readonly failure: Failure;
  /** The service may have taken a call: the intent stays until a later one shows it. */
  readonly mayHaveHappened: boolean;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The numbers of a run, as `sync --json` prints them. */
export interface Counts {
  created: number;
  adopted: number;
  updated: number;
  replaced: number;
  /** Of the created, adopted and updated: those whose mapping and properties nothing has shown to be taken. */
  unverified: number;
  unchanged: number;
  /** Changed groups that `service.update: never` left alone. */
  outdated: number;
  /** Groups whose tenants are gone, and which are kept: for a while, or for good. */
  missing: number;
  deleted: number;
  rotated: number;
  /** Tokens that a store lacked, and that were written to it from another or as the service told them. */
  restored: number;
  /** Deletions and replacements that were not done, for they need approval or better evidence. */
  held: number;
  rejected: number;
  /** Including those whose next try is not due. */
  failed: number;
}

export const noCounts = (): Counts => ({
  created: 0,
  adopted: 0,
  updated: 0,
  replaced: 0,
  unverified: 0,
  unchanged: 0,
  outdated: 0,
  missing: 0,
  deleted: 0,
  rotated: 0,
  restored: 0,
  held: 0,
  rejected: 0,
  failed: 0,
});

/** A tenant that the operator has named is gone, and there is nothing to do now: "in sync" would be no answer. */
export const tenantGone = (message: string): Failure => ({ code: "TENANT_GONE", message });

export const isTenantGone = ({ code }: Pick<Failure, "code">): boolean => code === "TENANT_GONE";

/** Whoever started the run has made a mistake: it says nothing of how things are. */
export const isUsageMistake = ({ code }: Pick<Failure, "code">): boolean => code === "UNKNOWN_ID";

/** Nothing is wrong with a run that was told to stop, or that found another instance at work. */
export const isNoFault = ({ code }: Failure): boolean => code === "INTERRUPTED" || code === "LEASE_HELD";

export type RunOutcome = "ok" | "partial" | "held" | "failed";

/** Held outranks partial; a run that did not reach its end has failed, whatever it counted. */
export function runOutcome(counts: Counts): RunOutcome {
  if (counts.held > 0) return "held";
  return counts.failed + counts.rejected > 0 ? "partial" : "ok";
}
