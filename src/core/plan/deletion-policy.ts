import type { GraceClock } from "../group/ledger-group.ts";

/** The `deletion` section of the config. */
export interface DeletionPolicy {
  /** When a group may be deleted: if its tenant's row is missing or flagged, only if the row is flagged, or never. */
  readonly when: "absent" | "flagged" | "never";
  readonly gracePeriodMs: number;
  readonly limit: DeletionLimit;
}

/** Removals are held if more than `count` and more than `percent` would happen within `LIMIT_PERIOD_MS`. */
export interface DeletionLimit {
  readonly count: number;
  /** Of the groups in the ledger. */
  readonly percent: number;
}

export const LIMIT_PERIOD_MS = 24 * 60 * 60_000;

/** How many of `owned` groups may be removed within `LIMIT_PERIOD_MS`. */
export const removalsAllowed = ({ count, percent }: DeletionLimit, owned: number): number =>
  // Multiply first: in floating point, 0.29 × 100 is less than 29.
  Math.max(count, Math.floor((percent * owned) / 100));

/** Whether the grace period is over. Unless the period is 0, the tenant must also be missing in at least two reads. */
export function isGraceOver(since: GraceClock, now: GraceClock, { gracePeriodMs }: DeletionPolicy): boolean {
  if (gracePeriodMs === 0) return true;
  return now.reads > since.reads && now.ms - since.ms >= gracePeriodMs;
}

/** Milliseconds on the grace clock until the grace period is over. */
export const graceLeftMs = (since: GraceClock, now: GraceClock, { gracePeriodMs }: DeletionPolicy): number =>
  Math.max(0, gracePeriodMs - (now.ms - since.ms));
