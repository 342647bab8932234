import { type DeletionLimit, LIMIT_PERIOD_MS, removalsAllowed } from "../plan/deletion-policy.ts";
import { quantity } from "../text/quantity.ts";

/** How many groups lost their tenants in the last 24 hours, and how many may be removed in that time. */
export interface WentMissing {
  /** Groups whose removal is held don't count here: they are reported as held. */
  readonly count: number;
  /** Groups in the ledger. */
  readonly owned: number;
  /** How many removals `deletion.limit` allows. */
  readonly allowed: number;
}

/** A tenant counts here if it went missing after this time. */
export const recently = (now: Date): Date => new Date(now.getTime() - LIMIT_PERIOD_MS);

export const wentMissing = (count: number, owned: number, limit: DeletionLimit): WentMissing => ({
  count,
  owned,
  allowed: removalsAllowed(limit, owned),
});

/**
 * More tenants went missing than may be removed: a mistake in the source is likely. The operator hears of it before the
 * first removal is due.
 */
export const isAlarming = ({ count, allowed }: WentMissing): boolean => count > allowed;

export const wentMissingText = ({ count, owned, allowed }: WentMissing): string =>
  `the tenants of ${count} of ${quantity(owned, "group")} went missing within 24 hours; deletion.limit lets ${allowed} go`;
