import type { UpdateEvidence } from "../../core/apply/update-evidence.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import type { Rejection, RememberedRejection } from "../../core/group/rejections.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
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

/** Where the tokens are. */
export interface TokenDestinations {
  /** The destinations that have all tokens, in words; null if no destination has all of them for certain. */
  readonly complete: readonly string[] | null;
  /** When a run began that read every token in every store; null if none has. */
  readonly verifiedAt: Date | null;
  /** The tables that the last run wrote tokens to. */
  readonly tables: readonly TokenTable[];
}

/** What the ledger keeps of a scope beside its groups and its runs. */
export interface ScopeState {
  readonly service: KnownService;
  readonly history: ReadHistory;
  readonly tokens: TokenDestinations;
  /** The last entry of the journal that the operator has approved: no refresh is held for what was found until then. */
  readonly refreshApproved: string | null;
  /** Null if nobody holds it. */
  readonly lease: LeaseHolder | null;
  /** Identifies this ledger, with all its scopes, among all ledgers. Null if the tables are missing. */
  readonly ledgerId: string | null;
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

export interface ScopeChanges extends Partial<Pick<ScopeState, "history" | "refreshApproved">> {
  readonly service?: BoundService | undefined;
  /** When the service has answered well. It counts once the service is recorded. */
  readonly answeredAt?: Date | undefined;
  readonly tokens?: Partial<TokenDestinations>;
}

export interface RunReads {
  /** The runs that began at this time or later, newest first, at most `limit`. */
  history(since: Date, limit: number, which?: RunSelection): Promise<readonly RecordedRun[]>;
}

/** Only runs of this command, or only runs that failed with one of these error codes. */
export type RunSelection = { readonly command: string } | { readonly failedWith: readonly string[] };

export interface RunWrites {
  startRun(command: string, now: Date): Promise<RunId>;
  /**
   * If the result is null, takes the run out of the history: it has changed nothing. Also deletes what is too old of the history
   * of runs, removals and tokens: a run that begins has no time for that.
   */
  finishRun(run: RunId, result: RunResult | null, now: Date): Promise<void>;
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
