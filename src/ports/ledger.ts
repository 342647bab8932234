import type { Apply, SettledNote } from "../core/decide.ts";
import type { Group } from "../core/group.ts";
import type { GroupFailure, LedgerGroup } from "../core/ledger-group.ts";
import type { Counts, Failure, Outcome, RunOutcome } from "../core/outcome.ts";
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
   * One transaction that commits only if the lease is still held when it does.
   * Rejects with LEASE_LOST, or LEDGER_UNAVAILABLE.
   */
  write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

/** What the ledger knows, for those who only read. Missing tables read as an empty ledger. */
export interface LedgerView {
  service(): Promise<KnownService>;
  /** Every bucket that has groups, in any order. */
  buckets(options: BucketOptions): Promise<readonly LedgerBucket[]>;
  /** The groups, or those of some buckets, in batches, ordered by the UTF-8 bytes of the id. */
  groups(buckets?: readonly number[]): AsyncIterable<readonly LedgerGroup[]>;
  /** The groups as the service last confirmed them; unknown ids are left out. */
  confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>>;
  status(): Promise<LedgerStatus>;
}

export interface BucketOptions {
  /** False where groups whose update was not verified have to be looked at again. */
  readonly unverifiedAtRest: boolean;
}

/** The sum is over the recorded digests of the groups at rest. */
export interface LedgerBucket extends BucketSum {
  /** Groups that a plan has to look at even if their rows are unchanged: under way, failing, missing. */
  readonly restless: number;
}

export interface LedgerTransaction {
  bindService(service: KnownService): Promise<void>;
  /** Commits to a call: from here on the group counts as under way. Answers in the order asked. */
  begin(changes: readonly Apply[], now: Date): Promise<readonly Begun[]>;
  /** Takes back intents whose calls were never made, and leaves those of an earlier run as they were. */
  withdraw(begun: readonly Begun[]): Promise<void>;
  /** Records what became of the calls, and clears the intents of those whose end is known. */
  record(outcomes: readonly RecordedOutcome[], now: Date): Promise<void>;
  markMissing(ids: readonly string[], now: Date): Promise<void>;
  markReturned(ids: readonly string[]): Promise<void>;
  /** Forgets that they were missing or had failed, and remembers their rows. */
  markSettled(settled: readonly SettledNote[]): Promise<void>;
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

/** What the ledger knew of a group when its call began. */
export interface Begun {
  readonly apply: Apply;
  /** There was a row already. */
  readonly known: boolean;
  readonly confirmedName: string | null;
  /** Failures in a row so far. */
  readonly failures: number;
}

/** An outcome and, where it is a failure, when to try again. */
export interface RecordedOutcome {
  readonly outcome: Outcome;
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
  /** The longest-failing first, a hundred at most. */
  readonly failing: readonly FailingGroup[];
  /** Newest first, ten at most. */
  readonly runs: readonly RecordedRun[];
  readonly lease: LeaseHolder | null;
  readonly service: KnownService;
}
