import type { RetryableFailure } from "../../core/failure/group-failures.ts";
import type { Group } from "../../core/group/group.ts";
import type { RowDigest } from "../../core/group/tenant.ts";
import type { TokenTable } from "../../core/tokens/destination.ts";

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
