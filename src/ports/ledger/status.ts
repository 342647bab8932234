import type { HeldRemoval } from "../../core/deletion/removal-guard.ts";
import type { FailingGroup } from "../../core/report/failing-group.ts";
import type { LeaseHolder } from "./lease.ts";
import type { RecordedRun } from "./runs.ts";
import type { KnownService } from "./service.ts";

/** All subjects summed up for people. */
export interface StatusReads {
  status(): Promise<LedgerStatus>;
}

export interface LedgerStatus {
  readonly groups: {
    readonly total: number;
    readonly in_sync: number;
    readonly under_way: number;
    readonly failing: number;
    readonly missing: number;
    readonly unverified: number;
  };
  /** Since when the oldest token is live; null if there is none. */
  readonly oldestToken: Date | null;
  /** Since when the oldest change has been failing or under way; null if there is none. */
  readonly oldestUnsynced: Date | null;
  /** Null if nothing waits for approval. */
  readonly held: HeldGroups | null;
  /** The longest-failing first, a hundred at most. */
  readonly failing: readonly FailingGroup[];
  /** Newest first, ten at most. */
  readonly runs: readonly RecordedRun[];
  readonly lease: LeaseHolder | null;
  readonly service: KnownService;
}

export interface HeldGroups {
  readonly count: number;
  /**
   * Approves exactly these groups, as long as nothing else is approved. Null if only a plan or the next sync can tell the
   * code.
   */
  readonly code: string | null;
  /** In the order of the ids, a hundred at most. */
  readonly groups: readonly HeldRemoval[];
}
