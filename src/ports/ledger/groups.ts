import type { Outcome } from "../../core/apply/outcome.ts";
import type { MissingGroups } from "../../core/deletion/missing-tenants.ts";
import type { HeldRemoval } from "../../core/deletion/removals.ts";
import type { FoundGone } from "../../core/drift/refresh.ts";
import type { FailureCounts, RetryableFailure } from "../../core/failure/group-failures.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import type { Group } from "../../core/group/group.ts";
import type { GraceClock, Intent, LedgerGroup, UnverifiedOutcome } from "../../core/group/ledger-group.ts";
import type { BucketSum, RowDigest } from "../../core/group/tenant.ts";
import type { Change } from "../../core/plan/change.ts";
import type { LeftUpdate, SettledUpdate } from "../../core/plan/ledger-update.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
import type { RotationCandidate } from "../../core/rotation/rotation-policy.ts";
import type { TokenTable } from "../../core/tokens/destination.ts";
import type { KnownService } from "./scope.ts";

export interface GroupReads {
  /** Every bucket that has groups, in any order. */
  buckets(options: BucketOptions): Promise<readonly LedgerBucket[]>;
  /** All groups, or those of some buckets, in batches, ordered by the UTF-8 bytes of the id. */
  groups(buckets?: readonly number[]): AsyncIterable<readonly LedgerGroup[]>;
  /** The groups with these ids, ordered by the UTF-8 bytes of the id; unknown ids are left out. */
  of(ids: readonly string[]): Promise<readonly LedgerGroup[]>;
  /** The groups as the service last confirmed them; unknown ids are left out. */
  confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>>;
  /**
   * Groups that the service has or may have: groups that were made, and groups that have anything under way. A page of
   * them, ordered by the UTF-8 bytes of the id.
   */
  existing(options: ExistingOptions): Promise<readonly string[]>;
  existingCount(which: Pick<ExistingOptions, "liveSince" | "of" | "underWay">): Promise<number>;
  /**
   * The other scopes of this ledger that have groups with ids of this scope's groups, at this service. If `teamId` is null, the
   * groups of any team count.
   */
  sharedGroups(service: Pick<KnownService, "baseUrl" | "teamId">): Promise<readonly SharedGroups[]>;
}

/** Groups that another scope has too. */
export interface SharedGroups {
  readonly scope: string;
  readonly count: number;
  /** The first of their ids, in the order of the ids. */
  readonly first: string;
}

export interface GroupWrites {
  /** Records the intents of these changes, before their calls. Returns what the ledger knew, in the order of `changes`. */
  begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]>;
  /** Removes intents whose calls were never made, and restores the intents of earlier runs. */
  withdraw(begun: readonly Begun[]): Promise<void>;
  /**
   * Records what became of the calls, and clears the intents of calls whose end is known. A deleted group is forgotten
   * once its token is removed. A deleted or replaced group counts as one removal.
   */
  record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void>;
  /** Remembers the rows of these groups, and forgets that their tenants were gone or that a change had failed. */
  markSettled(settled: readonly SettledUpdate[]): Promise<void>;
  /** Forgets groups that were never made. */
  forget(ids: readonly string[]): Promise<void>;
  /** Forgets that changes of these groups have failed. */
  forgetFailedChanges(ids: readonly string[]): Promise<void>;
}

export interface BucketOptions {
  /** False if groups whose update was not verified have to be looked at again. */
  readonly unverifiedAtRest: boolean;
}

/** The sum is over the recorded digests of the groups at rest. */
export interface LedgerBucket extends BucketSum {
  /**
   * Groups that a plan has to look at even if their rows are unchanged: under way, failing, in an unknown state, gone, or with a
   * token that is not in every store. Rejected rows too.
   */
  readonly restless: number;
}

export interface ExistingOptions {
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this id. */
  readonly after?: string | undefined;
  /** Return only groups with these ids. */
  readonly of?: readonly string[] | undefined;
  /**
   * Return only groups whose token has been live since this time or longer. A token that nobody has seen is as old as the
   * intent to make its group.
   */
  readonly liveSince?: Date | undefined;
  /** Return only groups that have anything under way, or a deletion or replacement. */
  readonly underWay?: "anything" | "a removal" | undefined;
}

export interface Begun {
  readonly change: Change;
  /** What the ledger knew of the group; null for an unknown group. */
  readonly before: KnownGroup | null;
}

export interface KnownGroup {
  /** As the service last gave it back; null if it never did. */
  readonly name: string | null;
  /** As it was sent when the service last took the group; null if it never did, or if nobody has recorded that. */
  readonly acceptedName: string | null;
  readonly fingerprint: string | null;
  readonly unverified: UnverifiedOutcome | null;
  /** Of the token that the service last told; null if it never told one. */
  readonly tokenFingerprint: string | null;
  readonly dataSourceId: string | null;
  /** The intent of an earlier run. */
  readonly intent: Intent | null;
  /** Fingerprint of the group that the intent meant to make; null if there was no such intent, or several that differ. */
  readonly intended: string | null;
  readonly failures: FailureCounts;
}

/** An outcome and, for a failure, when to try again. */
export interface RecordedOutcome {
  readonly outcome: Outcome;
  /** The service took the change. Some of the stores have the token, but not all of them. */
  readonly notEverywhere?: Failure;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
  /** The group is deleted, but its token is still stored: the intent to remove the token stays. */
  readonly notRemoved?: Failure;
  readonly retryAt?: Date;
}

/** Which tokens are live, and where their copies are. The ledger knows fingerprints, and never a token. */
export interface TokenReads {
  /**
   * A page of the groups at rest whose token is known, ordered by the UTF-8 bytes of the id. Their tokens have to be in
   * the token stores.
   */
  vouchedTokens(options: VouchedOptions): Promise<readonly VouchedToken[]>;
  /**
   * Which of these groups have a token that belongs to another group. `tokens` has fingerprints by id. A token belongs to
   * the group that the ledger has recorded it for. If `of` is "all", a token also belongs to each group for which the service
   * returned it, although groupsync refused it there because another group had it.
   */
  sharedTokens(tokens: ReadonlyMap<string, string>, of: "recorded" | "all"): Promise<ReadonlySet<string>>;
  /** The destinations that have all tokens, in words; null if no destination has all of them for certain. */
  tokenDestinations(): Promise<readonly string[] | null>;
  /** When a run began that read every token in every store; null if none has. */
  tokensVerifiedAt(): Promise<Date | null>;
  /** The tables that the last run wrote tokens to. */
  tokenTables(): Promise<readonly TokenTable[]>;
}

export interface TokenWrites {
  /** Records for each token whether every store has it by now. */
  recordStored(results: readonly StoredResult[], now: Date): Promise<void>;
  /** Null: no destination has all tokens for certain. */
  recordTokenDestinations(destinations: readonly string[] | null): Promise<void>;
  recordTokensVerified(now: Date): Promise<void>;
  recordTokenTables(tables: readonly TokenTable[]): Promise<void>;
}

export interface VouchedOptions {
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this id. */
  readonly after?: string | undefined;
  /** Of all groups, of groups whose tokens are known to be missing in a store, or of groups with these ids. */
  readonly of: "all" | "not everywhere" | readonly string[];
}

/** A group whose token the ledger vouches for. */
export interface VouchedToken {
  readonly user_group_id: string;
  readonly tokenFingerprint: string;
  /**
   * What a GET for the token sends. Null if nobody knows the state of the group at the service: a GET could then change
   * the group.
   */
  readonly confirmed: ConfirmedGroup | null;
  /** Set if the token is known not to be in every store. */
  readonly failure: RetryableFailure | null;
}

/** A group as the service last confirmed it. */
export interface ConfirmedGroup {
  readonly group: Group;
  readonly fingerprint: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
}

/** Whether a token is in every store by now. */
export interface StoredResult {
  readonly user_group_id: string;
  /** Null if the token is in every store. The count of failures in a row includes this one. */
  readonly failure: RetryableFailure | null;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
}

export interface RotationReads {
  /**
   * A page of the groups whose tokens `rotation.max_age` may rotate, the oldest token first: confirmed groups of present
   * tenants that have nothing but a rotation under way.
   */
  rotatable(options: RotatableOptions): Promise<readonly RotationCandidate[]>;
  /** How many groups `rotatable` returns over all pages. */
  rotatableCount(until: Date): Promise<number>;
  /** How many groups have a token that has been live since this time or longer. */
  tokensLiveSince(time: Date): Promise<number>;
}

export interface RotationWrites {
  /**
   * Records the intent of a rotation, unless another change is under way. Returns what the ledger knew; undefined if it has
   * no such group.
   */
  beginRotation(id: string, now: Date): Promise<KnownToken | undefined>;
  /** Takes the intent back: nothing was sent. */
  withdrawRotation(id: string): Promise<void>;
  recordRotation(result: RotationResult, now: Date): Promise<void>;
}

export interface RotatableOptions {
  /** Return only tokens that have been live since this time or longer. */
  readonly until: Date;
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this one. */
  readonly after?: RotationCandidate | undefined;
}

/** What the ledger knew when a rotation began. */
export interface KnownToken {
  /** Null if the service never told a token. */
  readonly tokenFingerprint: string | null;
  /** The intent of an earlier run. */
  readonly intent: Intent | null;
  readonly failures: FailureCounts;
}

export interface RotationResult {
  readonly user_group_id: string;
  /** Of the token that is live and stored; null if no token is known to be both. */
  readonly tokenFingerprint: string | null;
  /**
   * Null if nothing failed. That clears an earlier failure only if the token has changed: as long as the old token is live,
   * the rotation is still to be done.
   */
  readonly failure: (Failure & { readonly retryAt: Date }) | null;
  /** Fingerprint of a token that the service has told for the group, and that belongs to another group. */
  readonly sharedToken?: string;
  /** This rotation, or an earlier run's change, is still under way: the intent stays. */
  readonly isOpen: boolean;
}

export interface RefreshReads {
  /**
   * A page of the groups that a refresh may ask for, in the order of `verifiedAt` and the id: confirmed groups of present
   * tenants that have nothing under way, nothing held, and no failed change or token to store.
   */
  refreshable(options: RefreshableOptions): Promise<readonly RefreshCandidate[]>;
  /** How many groups `refreshable` returns over all pages. */
  refreshableCount(unverified: Unverified): Promise<number>;
  /** The groups that refreshes found gone, at this time or later and since the last approval. */
  goneSince(time: Date): Promise<FoundGone>;
}

export interface RefreshWrites {
  /** The operator has approved what refreshes have made again until now. */
  approveRefresh(now: Date): Promise<void>;
}

/** Groups that were not verified between `since` and `now`. A later time tells nothing: a clock was ahead. */
export interface Unverified {
  readonly since: Date;
  readonly now: Date;
}

export interface RefreshableOptions extends Unverified {
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this one. */
  readonly after?: Pick<RefreshCandidate, "user_group_id" | "verifiedAt"> | undefined;
  /** Return only groups with these ids. */
  readonly of?: readonly string[] | undefined;
}

/** A group that a refresh may ask for, as the service last confirmed it. */
export interface RefreshCandidate extends ConfirmedGroup {
  readonly user_group_id: string;
  /** When a GET last told the group's name and token, and both were compared. */
  readonly verifiedAt: Date;
}

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
