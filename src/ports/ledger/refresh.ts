import type { ConfirmedGroup } from "./tokens.ts";

export interface RefreshReads {
  /**
   * A page of the groups that a refresh may ask for, in the order of `verifiedAt` and the id: confirmed groups of present
   * tenants that have nothing under way, nothing held, and no failed change or token to store.
   */
  refreshable(options: RefreshableOptions): Promise<readonly RefreshCandidate[]>;
  /** How many groups `refreshable` returns over all pages. */
  refreshableCount(before: Date): Promise<number>;
  /** The groups that refreshes found gone, at this time or later and since the last approval. */
  goneSince(time: Date): Promise<GoneGroups>;
}

export interface RefreshWrites {
  /** Groups that were verified after `now`, by a clock that was ahead, count as verified at `as` from now on. */
  redateVerified(times: { readonly now: Date; readonly as: Date }): Promise<void>;
  /** The operator has approved what refreshes have made again until now. */
  approveRefresh(now: Date): Promise<void>;
}

export interface RefreshableOptions {
  /** Return only groups that were verified before this time. */
  readonly before: Date;
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

export interface GoneGroups {
  readonly count: number;
  /** The group that was found gone last, and when; null if there is none. */
  readonly last: { readonly user_group_id: string; readonly at: Date } | null;
}
