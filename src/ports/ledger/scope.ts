import type { UpdateEvidence } from "../../core/apply/update-evidence.ts";
import type { HeldRemoval } from "../../core/deletion/removals.ts";
import type { FailingGroup } from "../../core/failure/group-failures.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import type { Rejection, RememberedRejection } from "../../core/group/rejections.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Counts, RunOutcome } from "../../core/report/counts.ts";
import type { TokenTable } from "../../core/tokens/destination.ts";
import type { LeaseHolder } from "./lease.ts";

/** Which service the ledger's groups live in. Null: not known yet. */
export interface BoundService {
  readonly baseUrl: string | null;
  readonly teamId: number | null;
  /** Whether a GET changes an existing group there. */
  readonly evidence: UpdateEvidence;
}

export interface KnownService extends BoundService {
  /** When the service last answered well, to the minute; null if it never did. */
  readonly answeredAt: Date | null;
}

/** A group that `probe` makes at a service, and deletes again. It belongs to no tenant. */
export interface Canary {
  readonly user_group_id: string;
  readonly baseUrl: string;
}

/** Where the tokens are. */
export interface TokenDestinations {
  /** The destinations that have all tokens, in words; null if no destination has all of them for certain. */
  readonly complete: readonly string[] | null;
  /** When a run began that read every token in every store; null if none has. */
  readonly verifiedAt: Date | null;
  /** The tables that the last run wrote tokens to. */
  readonly tables: readonly TokenTable[];
}

/** What the ledger keeps of a scope beside its groups, its runs and its lease. */
export interface ScopeState {
  readonly service: KnownService;
  readonly history: ReadHistory;
  readonly tokens: TokenDestinations;
  /** The canary that a probe has begun to make, and that the service may still have; null if there is none. */
  readonly canary: Canary | null;
  /** When this was read, by the clock of the ledger's database. */
  readonly readAt: Date;
}

export interface ScopeReads {
  scope(): Promise<ScopeState>;
}

export interface ScopeWrites {
  /**
   * What is left out stays as it is. Call this before a change of groups in the same transaction, because it locks the scope's
   * row: transactions that lock in another order would wait for each other.
   */
  recordScope(changes: ScopeChanges): Promise<void>;
}

export interface ScopeChanges extends Partial<Pick<ScopeState, "history" | "canary">> {
  readonly service?: BoundService | undefined;
  /** When the service has answered well. It counts once the service is recorded. */
  readonly answeredAt?: Date | undefined;
  readonly tokens?: Partial<TokenDestinations>;
}

export interface RunReads {
  /** The runs that began at this time or later, newest first, at most `limit`; only those of `command`, if given. */
  history(since: Date, limit: number, command?: string): Promise<readonly RecordedRun[]>;
}

export interface RunWrites {
  startRun(command: string, now: Date): Promise<RunId>;
  /** Also deletes what is too old of the history of runs, removals and tokens: a run that begins has no time for that. */
  finishRun(run: RunId, result: RunResult, now: Date): Promise<void>;
  /** Takes a run that has changed nothing out of the history. */
  discardRun(run: RunId): Promise<void>;
}

export type RunId = string;

export interface RunResult {
  readonly outcome: RunOutcome;
  readonly counts: Counts;
  readonly requests: number;
  /** Why the run failed, or why it held deletions back. */
  readonly error: Failure | null;
}

export interface RecordedRun {
  readonly id: RunId;
  readonly command: string;
  readonly startedAt: Date;
  /** Null while the run is under way, and for good if it was killed. */
  readonly finishedAt: Date | null;
  readonly result: RunResult | null;
}

/** The rows that no group can be computed from, since when and why. */
export interface RejectionReads {
  /** Those of these ids, or all of them: about a thousand at most. In the order of the ids, those without an id first. */
  rejections(ids?: readonly string[]): Promise<readonly RememberedRejection[]>;
}

export interface RejectionWrites {
  /** Remembers rejections, and forgets some. One that is remembered already keeps its time. */
  recordRejections(
    changed: readonly Rejection[],
    gone: readonly Pick<Rejection, "user_group_id" | "code">[],
    now: Date,
  ): Promise<void>;
}

/** All subjects summed up for people. */
export interface StatusReads {
  status(): Promise<LedgerStatus>;
  /** All that the ledger keeps of one id. */
  record(id: string): Promise<GroupHistory>;
}

export interface GroupHistory {
  /**
   * Null if the ledger has no group with this id now. Its `unverified` is null if the service is known to update: then it has
   * taken mapping and properties, even if no answer shows it.
   */
  readonly group: GroupRecord | null;
  /** Newest first, a hundred at most. */
  readonly removals: readonly RecordedRemoval[];
  /** The token that died last comes first, a hundred at most. */
  readonly formerTokens: readonly FormerToken[];
}

export interface RecordedRemoval {
  /** `gone`: somebody else had deleted the group, and a refresh has made it again. */
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
    readonly in_doubt: number;
    /** Groups that somebody wants a new token for. */
    readonly wanted: number;
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
  /** The last run that the service made fail; null if the service has given a good answer since. */
  readonly unanswered: RecordedRun | null;
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
