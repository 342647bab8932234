import { type DailyWindow, isWithin } from "./daily-window.ts";
import type { GroupFailure } from "./ledger-group.ts";

/** The `rotation` section of the config: which tokens a sync replaces by new ones, and when. */
export interface RotationPolicy {
  /** A token older than this is due; null: none is by itself. */
  readonly maxAgeMs: number | null;
  /** No rotation starts outside of it; null: at any time. */
  readonly window: DailyWindow | null;
  /** In one sync; null: all that are due. */
  readonly maxPerRun: number | null;
  /** Tokens that are new in the service and not stored yet, at most. */
  readonly concurrency: number;
}

/** The fingerprint of a rotation that failed, where a failed change has that of its group. */
export const ROTATED = "rotated";

/** A group whose token can be replaced by a new one. */
export interface RotationCandidate {
  readonly user_group_id: string;
  /** Since when its token is the live one, as far as the ledger has seen. */
  readonly tokenSince: Date;
  /** Of the rotation that was tried last. */
  readonly failure: GroupFailure | null;
}

/** Whether a rotation may start at this time of the day. */
export const mayStart = ({ window }: RotationPolicy, now: Date): boolean =>
  window === null || isWithin(window, now);

/** Tokens that are no younger are due; null where none is by itself. */
export const dueBefore = ({ maxAgeMs }: RotationPolicy, now: Date): Date | null =>
  maxAgeMs === null ? null : new Date(now.getTime() - maxAgeMs);
