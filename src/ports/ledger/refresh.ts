import type { FoundGone } from "../../core/drift/refresh.ts";
import type { ConfirmedGroup } from "./tokens.ts";

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
