import type { Absence, HealthyTime } from "./ledger-group.ts";

/** The `deletion` section of the config. */
export interface DeletionPolicy {
  /** What counts as evidence that a tenant is gone. */
  readonly when: "absent" | "flagged" | "never";
  readonly gracePeriodMs: number;
  readonly limit: DeletionLimit;
}

/** Removals within `LIMIT_PERIOD_MS` are held when they are more than both. */
export interface DeletionLimit {
  readonly count: number;
  /** Of the groups that the ledger knows. */
  readonly percent: number;
}

export const LIMIT_PERIOD_MS = 24 * 60 * 60_000;

/** How many of so many groups may be removed within `LIMIT_PERIOD_MS`. */
export const removalsAllowed = ({ count, percent }: DeletionLimit, owned: number): number =>
  // Multiplied first: 0.29 × 100 is less than 29.
  Math.max(count, Math.floor((percent * owned) / 100));

/** A tenant has to be gone in two reads at least, unless there is no grace period at all. */
export function isGraceOver(absence: Absence, now: HealthyTime, { gracePeriodMs }: DeletionPolicy): boolean {
  if (gracePeriodMs === 0) return true;
  return now.reads > absence.at.reads && now.ms - absence.at.ms >= gracePeriodMs;
}

/** Healthy milliseconds until the grace period is over. */
export const graceLeftMs = (absence: Absence, now: HealthyTime, { gracePeriodMs }: DeletionPolicy): number =>
  Math.max(0, gracePeriodMs - (now.ms - absence.at.ms));
