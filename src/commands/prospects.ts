import type { SyncError } from "../core/errors.ts";
import type { FoundTables } from "../core/found-tables.ts";
import type { Warning } from "../ports/observer.ts";
import type { DueRotations } from "./due-rotations.ts";

/** What a sync would meet now, beside the changes of its plan. */
export interface Prospects {
  readonly tables: FoundTables;
  readonly rotations: DueRotations;
  /** It looks for every token there, and writes those that are missing. Empty where none can be. */
  readonly placesToLookIn: readonly string[];
  /** Why it would fail. */
  readonly failures: readonly SyncError[];
  /** What it would warn of, where it wouldn't fail. */
  readonly warnings: readonly Warning[];
}
