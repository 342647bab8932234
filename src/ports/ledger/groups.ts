import type { HeldRemoval } from "../../core/deletion/removals.ts";
import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import type { BucketSum } from "../../core/group/tenant.ts";
import type { CandidateList } from "../../core/record/candidates.ts";
import type { GroupSums } from "../../core/record/group-sums.ts";
import type { EventOf, GroupEvent } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { KnownService } from "./scope.ts";

export interface GroupReads {
  /** Every bucket that has groups, in any order. */
  buckets(options: BucketOptions): Promise<readonly LedgerBucket[]>;
  /** All groups, or those of some buckets, in batches, ordered by the UTF-8 bytes of the id. */
  groups(buckets?: readonly number[]): AsyncIterable<readonly LedgerGroup[]>;
  /** The records of the groups with these ids, ordered by the UTF-8 bytes of the id; unknown ids are left out. */
  records(ids: readonly string[]): Promise<ReadonlyMap<string, GroupRecord>>;
  /** A page of the list, in its order. */
  candidates(list: CandidateList, page: Page): Promise<readonly GroupRecord[]>;
  /** Over all groups, or over those of a list. */
  sums(list?: CandidateList): Promise<GroupSums>;
  /**
   * The other scopes of this ledger that have groups with ids of this scope's groups, at this service. If `teamId` is null, the
   * groups of any team count.
   */
  sharedGroups(service: Pick<KnownService, "baseUrl" | "teamId">): Promise<readonly SharedGroups[]>;
  /**
   * Which of these groups have a token that belongs to another group. `tokens` has fingerprints by id: the ledger knows
   * fingerprints, and never a token. A token belongs to the group that the ledger has recorded it for, now or at any time that the
   * journal still knows: somebody may still have a former token. If `of` is "all", a token also belongs to each group for which
   * the service returned it, although groupsync refused it there because another group had it.
   */
  sharedTokens(tokens: ReadonlyMap<string, string>, of: "recorded" | "all"): Promise<ReadonlySet<string>>;
}

/** Groups that another scope has too. */
export interface SharedGroups {
  readonly scope: string;
  readonly count: number;
  /** The first of their ids, in the order of the ids. */
  readonly first: string;
}

export interface GroupWrites {
  /**
   * Records what happens to groups, such as a call that is about to be sent, or has ended: takes the events in this order, and
   * saves each group as `next` (core/record/next.ts) has it then. Returns what the ledger knew of these groups before;
   * unknown ids are left out.
   */
  change(events: readonly EventOf[], now: Date): Promise<ReadonlyMap<string, GroupRecord>>;
  /** Records the same event for all groups, or for those of a list. */
  changeAll(event: GroupEvent, now: Date, list?: CandidateList): Promise<void>;
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
  readonly dirty: number;
  /** Groups that owe something, see `owes`. */
  readonly owing: number;
}

interface Page {
  readonly limit: number;
  readonly after?: GroupRecord | undefined;
}

/** What the ledger remembers of groups that were removed, or that refreshes found gone or with another token. */
export interface JournalReads {
  /** Sums up the entries of these kinds from this time on; with `after`, only those that were entered after that one. */
  journalSum(kinds: readonly JournalKind[], since: Date, after?: string | null): Promise<JournalSum>;
  /** What the ledger remembers of the past of one group, whether it has that group still or not. */
  journalOf(id: string): Promise<GroupJournal>;
}

/**
 * `gone`, `token`: a refresh found that somebody else had deleted the group, which it has made again, or changed its token.
 * `skip_grace`: an operator had the group deleted by its id.
 */
export type JournalKind = HeldRemoval["kind"] | "skip_grace" | "gone" | "token";

export interface JournalSum {
  readonly count: number;
  /** The one that was entered last; null if there is none. */
  readonly last: { readonly id: string; readonly user_group_id: string; readonly at: Date } | null;
}

export interface GroupJournal {
  /** Newest first, a hundred at most. */
  readonly removals: readonly RecordedRemoval[];
  /** The token that died last comes first, a hundred at most. */
  readonly formerTokens: readonly FormerToken[];
}

export interface RecordedRemoval {
  readonly kind: Exclude<JournalKind, "token">;
  readonly at: Date;
}

export interface FormerToken {
  readonly fingerprint: string;
  readonly since: Date | null;
  readonly until: Date;
}
