import type { SyncError } from "../../core/failure/sync-error.ts";
import type { ResolvedTables } from "../../core/report/tables-text.ts";
import type { Warning } from "../../ports/observer.ts";
import type { DueRotations } from "./due-rotations.ts";

/** What a sync would meet now, in addition to the changes of its plan. */
export interface SyncForecast {
  readonly tables: ResolvedTables;
  readonly rotations: DueRotations;
  /** How many groups a sync would ask for again, by `service.refresh`. */
  readonly refreshes: number;
  /**
   * Destinations in which a sync would check every token and write the missing ones. Empty if no token can be missing.
   */
  readonly tokensMayBeMissingIn: readonly string[];
  /** Why a sync would fail. */
  readonly failures: readonly SyncError[];
  /** What a sync would warn of. Empty if it would fail. */
  readonly warnings: readonly Warning[];
}
