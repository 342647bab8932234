import type { Change } from "../core/change.ts";
import type { Held } from "../core/clearance.ts";
import type { Evidence } from "../core/evidence.ts";
import type { Group } from "../core/group.ts";
import type { GroupFailure, HealthyTime, Intent, LedgerGroup } from "../core/ledger-group.ts";
import type { LeftNote, SettledNote } from "../core/note.ts";
import type { Counts, Failure, Outcome, RunOutcome } from "../core/outcome.ts";
import type { RotationCandidate } from "../core/rotation.ts";
import type { RowDigest } from "../core/tenant.ts";
import type { BucketSum } from "./tenant-source.ts";

/** groupsync's own tables. Everything here concerns one scope: the `name` in the config. */
export interface Ledger extends LedgerView {
  /** Creates or migrates the tables. Rejects with LEDGER_TOO_NEW where a newer groupsync made them. */
  prepare(): Promise<void>;

  /** Takes the lease where it is free or expired; otherwise says who holds it. */
  acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt>;
  /** Takes the lease from a holder that is known to be dead. Undefined where it has changed since. */
  seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Lease | undefined>;
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
  service(): Promise<KnownService>;
  evidence(): Promise<Evidence>;
  /** How many groups were deleted or replaced at this time or later. */
  removalsSince(time: Date): Promise<number>;
  /** Every bucket that has groups, in any order. */
  buckets(options: BucketOptions): Promise<readonly LedgerBucket[]>;
  /** The groups, or those of some buckets, in batches, ordered by the UTF-8 bytes of the id. */
  groups(buckets?: readonly number[]): AsyncIterable<readonly LedgerGroup[]>;
  /** The groups as the service last confirmed them; unknown ids are left out. */
  confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>>;
  /**
   * Groups whose tokens can be rotated, the oldest token first: confirmed, with nothing else under way, and with
   * tenants that are not gone.
   */
  rotatable(options: RotatableOptions): Promise<readonly RotationCandidate[]>;
  /** How many these are. */
  rotatableCount(until: Date): Promise<number>;
  /** Groups at rest whose token is known, ordered by the bytes of the id: what has to be in the token stores. */
  vouchedTokens(options: VouchedOptions): Promise<readonly VouchedToken[]>;
  /** Where all tokens are, in words; null where no place has all of them for certain. */
  tokenPlaces(): Promise<readonly string[] | null>;
  status(): Promise<LedgerStatus>;
  /** The runs that began at this time or later, newest first, at most so many. */
  history(since: Date, limit: number): Promise<readonly RecordedRun[]>;
  /** For each of these times, how many groups have a token that is live since then, or longer. */
  tokensLiveSince(times: readonly Date[]): Promise<readonly number[]>;
}

export interface RotatableOptions {
  /** Only tokens that are live since then, or longer. */
  readonly until: Date;
  /** At most so many … */
  readonly limit: number;
  /** … that come after this one. */
  readonly after?: RotationCandidate | undefined;
}

export interface VouchedOptions {
  /** At most so many … */
  readonly limit: number;
  /** … that come after this id. */
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
  readonly failure: GroupFailure | null;
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
  readonly failure: (Failure & { readonly count: number; readonly retryAt: Date }) | null;
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
  bindService(service: KnownService): Promise<void>;
  /** Commits to calls: from here on the groups count as under way. Answers in the order asked. */
  begin(changes: readonly Change[], now: Date): Promise<readonly Begun[]>;
  /** Takes back intents whose calls were never made, and puts those of an earlier run back. */
  withdraw(begun: readonly Begun[]): Promise<void>;
  /**
   * Records what became of the calls, and clears the intents of those whose end is known. A deleted group is
   * forgotten; it and a replaced one count as removals.
   */
  record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void>;
  /** Their tenants are gone, since this point of the healthy clock. */
  markLeft(left: readonly LeftNote[], clock: HealthyTime, now: Date): Promise<void>;
  markReturned(ids: readonly string[]): Promise<void>;
  /** Forgets that they were gone or had failed, and remembers their rows. */
  markSettled(settled: readonly SettledNote[]): Promise<void>;
  /** Forgets groups that were never made. */
  forget(ids: readonly string[]): Promise<void>;
  /** Marks these groups, which come in the order of their ids, as held, and no others. */
  markHeld(held: AsyncIterable<readonly Held[]>): Promise<void>;
  keepEvidence(evidence: Evidence): Promise<void>;
  /** Commits to a rotation; undefined where the ledger has no such group. A deletion or update under way is left as it is. */
  beginRotation(id: string, now: Date): Promise<KnownToken | undefined>;
  /** Takes the intent back: nothing was sent. */
  withdrawRotation(id: string): Promise<void>;
  recordRotation(result: RotationResult, now: Date): Promise<void>;
  /** Remembers which tokens are not in every store, and forgets it of those that are by now. */
  recordStored(results: readonly StoredResult[], now: Date): Promise<void>;
  /** Null where no place has all of them for certain. */
  recordTokenPlaces(places: readonly string[] | null): Promise<void>;
  startRun(command: string, now: Date): Promise<RunId>;
  finishRun(run: RunId, result: RunResult, now: Date): Promise<void>;
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
  /** In a row, so far. */
  readonly failures: number;
}

/** What the ledger knew when a rotation began. */
export interface KnownToken {
  /** Null where the service never told one. */
  readonly tokenFingerprint: string | null;
  /** The intent that stood already. Any but a rotation has to be settled first. */
  readonly intent: Intent | null;
  /** In a row, so far. */
  readonly failures: number;
}

export interface RotationResult {
  readonly user_group_id: string;
  /** Of the token that is live and stored; null where that isn't known. */
  readonly tokenFingerprint: string | null;
  /** Null where the rotation is done. */
  readonly failure: (Failure & { readonly retryAt: Date }) | null;
  /** The service may yet take the call: the intent stays. */
  readonly isOpen: boolean;
}

/** An outcome and, where it is a failure, when to try again. */
export interface RecordedOutcome {
  readonly outcome: Outcome;
  /** The service took the change, and some of the stores has the token, but not all of them. */
  readonly notEverywhere?: Failure;
  readonly retryAt?: Date;
}

export interface Lease {
  /** Grows with every change of holder: the fencing token. */
  readonly epoch: string;
}

export interface LeaseHolder extends Lease {
  readonly holder: string;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
}

export type LeaseAttempt =
  | { readonly kind: "acquired"; readonly lease: Lease }
  | { readonly kind: "held"; readonly by: LeaseHolder };

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

export interface FailingGroup extends GroupFailure {
  readonly user_group_id: string;
  /** Of the first failure in the row. */
  readonly since: Date;
}

export interface HeldGroups {
  readonly count: number;
  /** Approves exactly these, until anything is approved. */
  readonly code: string;
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
