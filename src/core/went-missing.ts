import { counted } from "./counted.ts";
import { type DeletionLimit, LIMIT_PERIOD_MS, removalsAllowed } from "./deletion.ts";

/** Groups whose tenants went missing in the last `LIMIT_PERIOD_MS`, beside those that may be removed in that time. */
export interface WentMissing {
  /** Without those that are held: these are told of as such. */
  readonly count: number;
  /** Groups in the ledger. */
  readonly owned: number;
  /** How many of them `deletion.limit` lets go. */
  readonly allowed: number;
}

/** From when on a tenant counts that went missing. */
export const recently = (now: Date): Date => new Date(now.getTime() - LIMIT_PERIOD_MS);

export const wentMissing = (count: number, owned: number, limit: DeletionLimit): WentMissing => ({
  count,
  owned,
  allowed: removalsAllowed(limit, owned),
});

/** So many at once that a mistake in the source is likelier than their leaving: told before anything is due. */
export const isAlarming = ({ count, allowed }: WentMissing): boolean => count > allowed;

export const wentMissingText = ({ count, owned, allowed }: WentMissing): string =>
  `the tenants of ${count} of ${counted(owned, "group")} went missing within 24 hours; deletion.limit lets ${allowed} go`;
