import type { HeldRemoval } from "../../core/deletion/removals.ts";
import type { FailingGroup, FailureKind, RecordedFailure } from "../../core/failure/group-failures.ts";
import type { Group } from "../../core/group/group.ts";
import type { UnverifiedOutcome } from "../../core/group/ledger-group.ts";
import type { RememberedRejection } from "../../core/group/rejections.ts";
import type { LeaseHolder } from "./lease.ts";
import type { RecordedRun } from "./runs.ts";
import type { KnownService } from "./service.ts";

/** All subjects summed up for people. */
export interface StatusReads {
  status(): Promise<LedgerStatus>;
  /** What the ledger keeps of one id, beside its `LedgerGroup`. */
  record(id: string): Promise<GroupRecord>;
  /** The names that the service last gave back for groups with these ids, in 200 characters at most. */
  names(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface GroupRecord {
  /** Null if the ledger has no group with this id now. */
  readonly group: RecordedGroup | null;
  /** Newest first, a hundred at most. */
  readonly removals: readonly RecordedRemoval[];
  /** The token that died last comes first, a hundred at most. */
  readonly formerTokens: readonly FormerToken[];
}

export interface RecordedGroup {
  /** When the ledger first recorded an intent for the group. */
  readonly createdAt: Date;
  /** When the ledger last recorded what came of a change, or the first intent. */
  readonly changedAt: Date;
  /** Set while a call is under way. */
  readonly intentAt: Date | null;
  /** The group as the service last confirmed it. */
  readonly confirmed: Group | null;
  /** The name as the service last gave it back. */
  readonly serviceName: string | null;
  /** Of the live token. */
  readonly tokenFingerprint: string | null;
  readonly tokenSince: Date | null;
  /** When a GET last told the group's name and token, and both were compared; null if none has. */
  readonly lastAsked: Date | null;
  /** Null if the service is known to update: then it has taken mapping and properties, even if no answer shows it. */
  readonly unverified: UnverifiedOutcome | null;
  readonly failures: Readonly<Record<FailureKind, RecordedFailure | null>>;
}

export interface RecordedRemoval {
  /** `gone`: somebody else had deleted the group, and a refresh made it again. */
  readonly kind: HeldRemoval["kind"] | "gone";
  readonly at: Date;
}

/** A token that was live once. */
export interface FormerToken {
  readonly fingerprint: string;
  readonly since: Date | null;
  readonly until: Date;
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
  /** About a thousand at most: beyond them rows are only counted. */
  readonly rejected: readonly RememberedRejection[];
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
