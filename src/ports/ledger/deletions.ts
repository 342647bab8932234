import type { MissingGroups } from "../../core/deletion/missing-tenants.ts";
import type { HeldRemoval } from "../../core/deletion/removals.ts";
import type { GraceClock } from "../../core/group/ledger-group.ts";
import type { LeftUpdate } from "../../core/plan/ledger-update.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";

/** What decides when groups of absent tenants are deleted: earlier reads of the source, missing tenants, removals so far. */
export interface DeletionReads {
  readHistory(): Promise<DatedHistory>;
  /** How many groups groupsync has deleted or replaced at this time or later. */
  removalsSince(time: Date): Promise<number>;
  /** The groups whose tenants are missing, without those whose removal is held. The longest missing come first. */
  missing(): Promise<readonly MissingGroups[]>;
}

export interface DatedHistory extends ReadHistory {
  /** When it was read, by the clock of the ledger's database. */
  readonly readAt: Date;
}

export interface DeletionWrites {
  /**
   * Marks the tenants of these groups as gone since `now`, or since when they were known to be gone in the same way. The
   * grace period is counted from this reading of the grace clock.
   */
  markLeft(left: readonly LeftUpdate[], clock: GraceClock, now: Date): Promise<void>;
  markReturned(ids: readonly string[]): Promise<void>;
  /** Marks these groups, which come in the order of their ids, as held, and no others. */
  markHeld(held: AsyncIterable<readonly HeldRemoval[]>): Promise<void>;
  recordReadHistory(history: ReadHistory): Promise<void>;
}
