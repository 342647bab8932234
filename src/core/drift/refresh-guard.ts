import { createHash } from "node:crypto";
import type { Failure } from "../failure/failure.ts";
import { type DeletionLimit, removalsAllowed } from "../plan/deletion-policy.ts";
import { quantity } from "../text/quantity.ts";

/** Groups that refreshes found gone within the last 24 hours, and since the last approval. */
export interface FoundGone {
  readonly count: number;
  /** The one that was found last; null if there is none. */
  readonly last: { readonly user_group_id: string; readonly at: Date } | null;
}

/** A refresh that is held: no group is asked for. */
export interface HeldRefresh extends Failure {
  readonly hint: string;
  /** How many groups this sync was to ask for, and didn't. */
  readonly count: number;
  /** The code that approves that groups are made again. */
  readonly approval: string;
}

export interface RefreshLimit {
  readonly limit: DeletionLimit;
  /** Groups in the ledger. */
  readonly owned: number;
}

/** Whether so many groups are gone that somebody may have emptied the service on purpose: then no GET may make more. */
export const exceedsLimit = (gone: number, { limit, owned }: RefreshLimit): boolean =>
  gone > removalsAllowed(limit, owned);

/** The code is good until another group is found gone. `scope` is the `name` of the config. */
export function refreshCode(scope: string, { last }: FoundGone): string {
  const hash = createHash("sha256");
  // No field can contain a NUL.
  for (const field of ["refresh", scope, last?.user_group_id ?? "", String(last?.at.getTime())])
    hash.update(`${field}\0`);
  return hash.digest("hex").slice(0, CODE_LENGTH);
}

/** Hexadecimal digits, as for the approval of removals. */
const CODE_LENGTH = 20;

/** As long as this lasts, every refresh is held. */
export interface RefreshHold {
  /** How many groups were found gone. */
  readonly gone: number;
  /** Groups in the ledger. */
  readonly owned: number;
  /** How many groups may be gone, by `deletion.limit`. */
  readonly allowed: number;
  /** The code that approves that groups are made again. */
  readonly approval: string;
}

/** Null if no refresh is held. */
export function refreshHold(scope: string, gone: FoundGone, limit: RefreshLimit): RefreshHold | null {
  if (!exceedsLimit(gone.count, limit)) return null;
  const { owned } = limit;
  const allowed = removalsAllowed(limit.limit, owned);
  return { gone: gone.count, owned, allowed, approval: refreshCode(scope, gone) };
}

export const refreshHoldText = ({ gone, owned, allowed }: RefreshHold): string =>
  `the refresh is held: ${quantity(gone, "group")} ${gone === 1 ? "was" : "were"} gone at the service in 24 hours and made again, and deletion.limit lets ${allowed} of ${quantity(owned, "group")} go`;

export const approveRefreshCommand = (approval: string): string =>
  `groupsync sync --refresh --approve-refresh ${approval}`;

/** `count` groups were to be asked for, and are not. */
export function describeHeldRefresh(hold: RefreshHold, count: number): HeldRefresh {
  const { approval } = hold;
  const rest = `; ${quantity(count, "group")} ${count === 1 ? "is" : "are"} not asked for`;
  return {
    code: "REFRESH_HELD",
    message: `${refreshHoldText(hold)}${count > 0 ? rest : ""}`,
    hint: `find out who has deleted them: to ask for a group that is gone makes it again. If they are to be made again: ${approveRefreshCommand(approval)}`,
    count,
    approval,
  };
}
