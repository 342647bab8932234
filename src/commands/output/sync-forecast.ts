import type { SyncError } from "../../core/failure/sync-error.ts";
import type { ResolvedTables } from "../../core/report/tables-text.ts";
import type { RefreshStart } from "../../engine/refresh/refresh-start.ts";
import type { Warning } from "../../ports/observer.ts";
import type { DueRotations } from "./due-rotations.ts";

/** What a sync would meet now, in addition to the changes of its plan. */
export interface SyncForecast {
  readonly tables: ResolvedTables;
  readonly rotations: DueRotations;
  /** How the refresh of a sync would start, by `service.refresh`; null if no group is due to be asked for again. */
  readonly refresh: Pick<RefreshStart, "due" | "unsafe" | "hold"> | null;
  /**
   * Destinations in which a sync would check every token and write the missing ones. Empty if no token can be missing.
   */
  readonly tokensMayBeMissingIn: readonly string[];
  /** Why a sync would fail. */
  readonly failures: readonly SyncError[];
  /** What a sync would warn of. Empty if it would fail. */
  readonly warnings: readonly Warning[];
}
