import type { Delete } from "../plan/change.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS, removalsAllowed } from "../plan/deletion-policy.ts";
import type { Missing } from "../record/decide.ts";
import type { MissingGroups } from "../record/group-sums.ts";
import { durationText, quantity } from "../text/quantity.ts";

/** How many groups lost their tenants, and how many may be removed. */
export interface WentMissing {
  /** In the last 24 hours. */
  readonly count: number;
  /** Of all groups that are missing, how many are deleted when their grace period is over, or held. */
  readonly due: number;
  /** How many of those will be held, if nothing else is removed meanwhile. */
  readonly toBeHeld: number;
  /** Groups in the ledger. */
  readonly owned: number;
  /** How many removals `deletion.limit` allows in 24 hours. */
  readonly allowed: number;
}

export const NOBODY_MISSING: WentMissing = { count: 0, due: 0, toBeHeld: 0, owned: 0, allowed: 0 };

type Policy = Pick<DeletionPolicy, "when" | "limit">;

/** `missing` begins with those who have been missing for longest. */
export function wentMissing(
  missing: readonly MissingGroups[],
  owned: number,
  { when, limit }: Policy,
  now: Date,
): WentMissing {
  const allowed = removalsAllowed(limit, owned);
  const due = missing.filter(({ kind }) => when === "absent" || (when === "flagged" && kind === "flagged"));
  const unseen = due.filter(({ kind }) => kind === "unseen");
  const others = due.filter(({ kind }) => kind !== "unseen");
  return {
    count: sum(missing.filter(({ since }) => since >= recently(now))),
    due: sum(due),
    toBeHeld: sum(unseen) + sum(others.slice(firstHeld(others, allowed))),
    owned,
    allowed,
  };
}

/** Those that went missing after this time count as recent. */
export const recently = (now: Date): Date => new Date(now.getTime() - LIMIT_PERIOD_MS);

const sum = (missing: readonly MissingGroups[]): number =>
  missing.reduce((total, { groups }) => total + groups, 0);

/**
 * As the removal guard will decide: groups become due in the order in which they went missing, and once more than the limit are
 * due within 24 hours, they are held, with all that come after them.
 */
function firstHeld(missing: readonly MissingGroups[], allowed: number): number {
  let first = 0;
  let within = 0;
  for (const [index, { since, groups }] of missing.entries()) {
    within += groups;
    for (let oldest = missing[first]; oldest && oldest.since <= recently(since); oldest = missing[++first])
      within -= oldest.groups;
    if (within > allowed) return index;
  }
  return missing.length;
}

/**
 * More tenants went missing than may be removed: a mistake in the source is likely. The operator hears of it before the
 * first removal is due.
 */
export const isAlarming = ({ count, toBeHeld, allowed }: WentMissing): boolean =>
  count > allowed || toBeHeld > 0;

export const wentMissingText = ({ count, due, toBeHeld, owned, allowed }: WentMissing): string =>
  toBeHeld > 0
    ? `the tenants of ${due} of ${quantity(owned, "group")} are gone, and deletion.limit lets ${allowed} go in 24 hours: ${quantity(toBeHeld, "deletion")} will be held when the grace period is over`
    : `the tenants of ${count} of ${quantity(owned, "group")} went missing within 24 hours; deletion.limit lets ${allowed} go`;

/** Why a group counts as without a tenant, or is deleted although it has one, for an operator. */
export const ABSENCE_TEXT: Record<Delete["absence"], string> = {
  absent: "its tenant is gone",
  flagged: "its tenant's row was flagged as removed",
  unseen: "its tenant was never seen in the source that the config names now",
  canary: "a probe has made it, to delete it again",
  forgotten: "all groups of its scope are deleted, because `groupsync forget` was told so",
};

/** Of a tenant that the operator named. */
export const GONE_TEXT = "its tenant is gone, and there is no group of it";

const whenDue = (dueInMs: number): string =>
  dueInMs === 0 ? "by the next sync of all tenants" : `after another ${durationText(dueInMs)} of absence`;

/** Why the group counts as without a tenant, and when it is deleted. */
export function missingText({ absence, dueInMs }: Missing): string {
  const end = absence === "unseen" ? "held for approval" : "deleted";
  return `${ABSENCE_TEXT[absence]}; ${dueInMs === null ? "kept" : `${end} ${whenDue(dueInMs)}`}`;
}
