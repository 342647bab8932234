import type { RetryableFailure } from "../failure/group-failures.ts";
import { type DailyWindow, isWithin } from "./daily-window.ts";

/** The `rotation` section of the config: which tokens a sync replaces by new ones, and when. */
export interface RotationPolicy {
  /** A token older than this is due; null: no token is due because of its age. */
  readonly maxAgeMs: number | null;
  /** Rotations start only within this time of the day; null: at any time. */
  readonly window: DailyWindow | null;
  /** The most rotations of one sync; null: no limit. */
  readonly maxPerRun: number | null;
  /** The most tokens at a time that are new in the service and not stored yet. */
  readonly concurrency: number;
}

/** A group whose token can be replaced by a new one. */
export interface RotationCandidate {
  readonly user_group_id: string;
  /** When the ledger first saw its token as the live one. */
  readonly tokenSince: Date;
  /** The failure of the last rotation; null if it didn't fail. */
  readonly failure: RetryableFailure | null;
}

/** Whether a rotation may start at this time of the day. */
export const mayStart = ({ window }: RotationPolicy, now: Date): boolean =>
  window === null || isWithin(window, now);

/** A token is due if it has been live since this time or longer; null if no token is due because of its age. */
export const dueBefore = ({ maxAgeMs }: RotationPolicy, now: Date): Date | null =>
  maxAgeMs === null ? null : new Date(now.getTime() - maxAgeMs);
