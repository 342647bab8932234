import type { Change } from "../core/change.ts";
import type { Held } from "../core/clearance.ts";
import type { Evidence } from "../core/evidence.ts";
import type { FailingGroup } from "../core/failing.ts";
import type { Group } from "../core/group.ts";
import type { HealthyTime, Intent, LedgerGroup } from "../core/ledger-group.ts";
import type { LeftNote, SettledNote } from "../core/note.ts";
import type { Counts, Failure, Outcome, RunOutcome } from "../core/outcome.ts";
import type { RotationCandidate } from "../core/rotation.ts";
import type { RowDigest } from "../core/tenant.ts";
import type { CopiesFailure } from "../core/token-copies.ts";
import type { TokenTable } from "../core/token-tables.ts";
import type { Lease, LeaseAttempt, LeaseHolder, Seizure } from "./lease.ts";
import type { ExistingOptions, KnownToken, RotatableOptions, RotationResult } from "./rotation.ts";
import type { BucketSum } from "./tenant-source.ts";

/** groupsync's own tables. Everything here concerns one scope: the `name` in the config. */
export interface Ledger extends LedgerView {
  /**
   * Creates the tables where there are none: in those of an older groupsync, only the lease can be counted on before
   * `migrate`. Rejects with LEDGER_TOO_NEW where a newer groupsync made them.
   */
  prepare(): Promise<void>;
  /**
   * Brings the tables of an older groupsync up to date: for the lease's holder alone, as that groupsync may still be at
   * work otherwise. Rejects with LEASE_LOST.
   */
  migrate(lease: Lease): Promise<void>;

  /** Takes the lease where it is free or expired; otherwise says who holds it. */
  acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt>;
  /** Takes the lease from a holder that is known to be dead, unless it has changed since, or was renewed. */
  seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Seizure>;
  /** False when the lease has been lost. */
  renewLease(lease: Lease, ttlMs: number): Promise<boolean>;
  releaseLease(lease: Lease): Promise<void>;

  /**
   * One transaction that commits only if the lease is still held when it does. Where the database gives it up for
   * the sake of another one, `body` is run again.
   * Rejects with LEASE_LOST, or LEDGER_UNAVAILABLE.
   */
  write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

/** What the ledger knows, for those who only read. Missing tables read as an empty ledger. */
export interface LedgerView {
  /** Tells this ledger, with all of its scopes, from every other one. Null where its tables are missing. */
  id(): Promise<string | null>;
  /** Rejects as `prepare` would, as far as that can be seen without changing anything. */
  inspect(): Promise<void>;
  service(): Promise<KnownService>;
  evidence(): Promise<Evidence>;
  /** How many groups were deleted or replaced at this time or later. */
  removalsSince(time: Date): Promise<number>;
  /** How many groups' tenants went missing at this time or later and are missing still, without those that are held. */
  missingSince(time: Date): Promise<number>;
  /** Every bucket that has groups, in any order. */
  buckets(options: BucketOptions): Promise<readonly LedgerBucket[]>;
  /** The groups, or those of some buckets, in batches, ordered by the UTF-8 bytes of the id. */
  groups(buckets?: readonly number[]): AsyncIterable<readonly LedgerGroup[]>;
  /** The groups as the service last confirmed them; unknown ids are left out. */
  confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>>;
  /**
   * Groups that the service has, or may have: those that were made, and those of which anything is under way. In the
   * order of the bytes of their ids, which nothing that a run does changes.
   */
  existing(options: ExistingOptions): Promise<readonly string[]>;
  /** How many these are. */
  existingCount(which: Pick<ExistingOptions, "liveSince" | "of">): Promise<number>;
  /**
   * Groups whose tokens `rotation.max_age` may rotate, the oldest token first: confirmed, with nothing else under way,
   * and with tenants that are not gone.
   */
  rotatable(options: RotatableOptions): Promise<readonly RotationCandidate[]>;
  /** How many these are. */
  rotatableCount(until: Date): Promise<number>;
  /** Groups at rest whose token is known, ordered by the bytes of the id: what has to be in the token stores. */
  vouchedTokens(options: VouchedOptions): Promise<readonly VouchedToken[]>;
  /**
   * Which of these groups have a token that belongs to another group: one that the ledger has recorded for it or, if
   * `of` is "all", one that the service has told for it and that was refused for that reason.
   */
  sharedTokens(tokens: ReadonlyMap<string, string>, of: "recorded" | "all"): Promise<ReadonlySet<string>>;
  /** Where all tokens are, in words; null where no place has all of them for certain. */
  tokenPlaces(): Promise<readonly string[] | null>;
  /** The tables that the last run wrote tokens to. */
  tokenTables(): Promise<readonly TokenTable[]>;
  /** The ledger's own tables, such as `public.groupsync_*`; null where nobody can say where they would be. */
  ownTables(): Promise<string | null>;
  status(): Promise<LedgerStatus>;
  /** The runs that began at this time or later, newest first, at most so many. */
  history(since: Date, limit: number): Promise<readonly RecordedRun[]>;
  /** For each of these times, how many groups have a token that is live since then, or longer. */
  tokensLiveSince(times: readonly Date[]): Promise<readonly number[]>;
}

export interface VouchedOptions {
  /** Page size. */
  readonly limit: number;
  /** Return only entries after this id. */
  readonly after?: string | undefined;
  /** Of all groups, of those whose tokens are known to be missing in a store, or of these. */
  readonly of: "all" | "not everywhere" | readonly string[];
}

/** A group whose token the ledger vouches for. */
export interface VouchedToken {
  readonly user_group_id: string;
  readonly tokenFingerprint: string;
  /** What a GET for the token sends; null where nobody knows what the service has, and a GET could change it. */
  readonly confirmed: ConfirmedGroup | null;
  /** Set where it is known not to be in every store. */
  readonly failure: CopiesFailure | null;
}

/** As the service last confirmed it. */
export interface ConfirmedGroup {
  readonly group: Group;
  readonly fingerprint: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
}

/** Whether a token is in every store by now. */
export interface StoredResult {
  readonly user_group_id: string;
  /** Null where it is; else with how often in a row it was not, this time included. */
  readonly failure: CopiesFailure | null;
}

export interface BucketOptions {
  /** False where groups whose update was not verified have to be looked at again. */
  readonly unverifiedAtRest: boolean;
}

/** The sum is over the recorded digests of the groups at rest. */
export interface LedgerBucket extends BucketSum {
  /** Groups that a plan has to look at even if their rows are unchanged: under way, failing, gone. */
  readonly restless: number;
}

export interface LedgerTransaction {
  /**
   * Throws PAUSED if this process has stood still for so long that the transaction may be over, and another instance have
   * the lease: to be asked before a change elsewhere that only this transaction protects.
   */
  assertOpen(): void;
  bindService(service: KnownService): Promise<void>;
  /** Commits to calls: from here on the groups count as under way. Answers in the order asked. */
  begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]>;
  /** Takes back intents whose calls were never made, and puts those of an earlier run back. */
  withdraw(begun: readonly Begun[]): Promise<void>;
  /**
   * Records what became of the calls, and clears the intents of those whose end is known. A deleted group is
   * forgotten, once its token is removed; it and a replaced one count as removals, once.
   */
  record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void>;
  /** Their tenants are gone, since this point of the healthy clock. */
  markLeft(left: readonly LeftNote[], clock: HealthyTime, now: Date): Promise<void>;
  markReturned(ids: readonly string[]): Promise<void>;
  /** Forgets that they were gone or that a change had failed, and remembers their rows. */
  markSettled(settled: readonly SettledNote[]): Promise<void>;
  /** Forgets groups that were never made. */
  forget(ids: readonly string[]): Promise<void>;
  /** Marks these groups, which come in the order of their ids, as held, and no others. */
  markHeld(held: AsyncIterable<readonly Held[]>): Promise<void>;
  keepEvidence(evidence: Evidence): Promise<void>;
  /** Commits to a rotation; undefined where the ledger has no such group. Another change under way is left as it is. */
  beginRotation(id: string, now: Date): Promise<KnownToken | undefined>;
  /** Takes the intent back: nothing was sent. */
  withdrawRotation(id: string): Promise<void>;
  recordRotation(result: RotationResult, now: Date): Promise<void>;
  /** Remembers which tokens are not in every store, and forgets it of those that are by now. */
  recordStored(results: readonly StoredResult[], now: Date): Promise<void>;
  /** Null where no place has all of them for certain. */
  recordTokenPlaces(places: readonly string[] | null): Promise<void>;
  recordTokenTables(tables: readonly TokenTable[]): Promise<void>;
  startRun(command: string, now: Date): Promise<RunId>;
  finishRun(run: RunId, result: RunResult, now: Date): Promise<void>;
  /** Takes a run out of the history that has changed nothing. */
  discardRun(run: RunId): Promise<void>;
}

export type RunId = string;

/** Which service the ledger's groups live in. Null: not known yet. */
export interface KnownService {
  readonly baseUrl: string | null;
  readonly teamId: number | null;
  /** Whether a GET changes an existing group. */
  readonly updates: boolean | null;
}

export interface Begun {
  readonly change: Change;
  /** What the ledger knew of the group; null where nothing. */
  readonly before: KnownGroup | null;
}

export interface KnownGroup {
  /** As the service last gave it back; null where it never did. */
  readonly name: string | null;
  readonly fingerprint: string | null;
  readonly unverified: LedgerGroup["unverified"];
  /** Of the token that the service last told; null where it never did. */
  readonly tokenFingerprint: string | null;
  readonly dataSourceId: string | null;
  /** The intent that stood already. */
  readonly intent: Intent | null;
  /** Fingerprint of the group that it meant to make; null where none did, or several that differ. */
  readonly intended: string | null;
  /** Of its changes and rotations, in a row so far. */
  readonly failures: number;
  /** How often in a row so far its token was not in every store. */
  readonly copiesFailures: number;
}

/** An outcome and, where it is a failure, when to try again. */
export interface RecordedOutcome {
  readonly outcome: Outcome;
  /** The service took the change, and some of the stores has the token, but not all of them. */
  readonly notEverywhere?: Failure;
  /** Fingerprint of the token that the service has told for the group, and that belongs to another one. */
  readonly sharedToken?: string;
  /** The group is deleted, and its token is still stored: the intent to remove it stays. */
  readonly notRemoved?: Failure;
  readonly retryAt?: Date;
}

export interface RunResult {
  readonly outcome: RunOutcome;
  readonly counts: Counts;
  readonly requests: number;
  /** Why it failed, or why it held deletions back. */
  readonly error: Failure | null;
}

export interface RecordedRun {
  readonly id: RunId;
  readonly command: string;
  readonly startedAt: Date;
  /** Null while it runs, and for good where it was killed. */
  readonly finishedAt: Date | null;
  readonly result: RunResult | null;
}

export interface HeldGroups {
  readonly count: number;
  /** Approves exactly these, until anything is approved; null if only a plan or the next sync can tell it. */
  readonly code: string | null;
  /** In the order of the ids, a hundred at most. */
  readonly groups: readonly Held[];
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
  /** Since when the token is live that has been so for the longest; null where there is none. */
  readonly oldestToken: Date | null;
  /** Since when the change waits that has been failing or under way for the longest; null where none does. */
  readonly oldestUnsynced: Date | null;
  /** Null where nothing waits for approval. */
  readonly held: HeldGroups | null;
  /** The longest-failing first, a hundred at most. */
  readonly failing: readonly FailingGroup[];
  /** Newest first, ten at most. */
  readonly runs: readonly RecordedRun[];
  readonly lease: LeaseHolder | null;
  readonly service: KnownService;
}
