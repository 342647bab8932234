import type { DailyWindow } from "./daily-window.ts";

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

/** Tokens that are no younger are due; null where none is by itself. */
export const dueBefore = ({ maxAgeMs }: RotationPolicy, now: Date): Date | null =>
  maxAgeMs === null ? null : new Date(now.getTime() - maxAgeMs);
