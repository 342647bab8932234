import type { Outcome } from "../../core/apply/outcome.ts";
import type { FailureCounts } from "../../core/failure/group-failures.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import type { Group } from "../../core/group/group.ts";
import type { Intent, LedgerGroup, UnverifiedOutcome } from "../../core/group/ledger-group.ts";
import type { BucketSum } from "../../core/group/tenant.ts";
import type { Change } from "../../core/plan/change.ts";
import type { SettledUpdate } from "../../core/plan/ledger-update.ts";
import type { KnownService } from "./service.ts";

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
  /** Return only groups that have anything under way, or anything but a rotation, or a deletion or replacement. */
  readonly underWay?: "anything" | "another change" | "a removal" | undefined;
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
