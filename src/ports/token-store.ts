import type { SyncError } from "../core/failure/sync-error.ts";
import type { Secret } from "../core/secret/secret.ts";
import type { FoundTokenTable, OwnersMark } from "../core/tokens/destination.ts";
import type { LaggingToken, Refusals } from "../core/tokens/token-copies.ts";
import type { Lease } from "./ledger/lease.ts";
import type { LedgerTransaction } from "./ledger/ledger.ts";

export interface StoredToken {
  readonly user_group_id: string;
  readonly token: Secret;
}

export interface ChangeOptions {
  /**
   * Throws if the lease may be lost. Called right before each attempt of a change, which takes `LONGEST_PUT` at most, because such a
   * store can't refuse a late change by itself.
   */
  readonly assertHeld?: (() => void) | undefined;
  /** Once it aborts, a failed change is not repeated. */
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions {
  /** Writes a token again that is stored already: only a write shows that the store takes tokens. */
  readonly rewrite?: boolean;
}

/**
 * Where tokens are written for the customer's application. A token is stored if all stores have it: those outside of the ledger's
 * database and the tables in it, if there are any. Every method rejects with TOKEN_STORE_UNAVAILABLE if a store as a whole can't
 * be used.
 */
export interface TokenStore {
  /** Where the tokens are. Several stores together have several destinations. */
  readonly destinations: readonly TokenDestination[];
  /** Undefined if there is no store outside of the ledger's database. */
  readonly outside?: OutsideStore | undefined;
  /** Undefined if there is no token table in the ledger's database. */
  readonly tables?: TokenTables | undefined;
  /**
   * Makes the store ready for writes, and creates missing parts that groupsync owns. Once the signal aborts, it no longer
   * waits for a store that doesn't answer.
   */
  prepare(signal?: AbortSignal): Promise<void>;
  /** Rejects if `prepare` would, as far as that can be seen without a change. */
  inspect(): Promise<void>;
  /** The stored tokens by group. Leaves out groups that have none. Rejects with INTERRUPTED once the signal aborts. */
  read(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Secret>>;
  /**
   * Which groups lack their token in some store, and what the stores have instead. `expected` has the fingerprints of the
   * tokens by group, as the ledger knows them. Rejects with INTERRUPTED once the signal aborts.
   */
  lagging(
    expected: ReadonlyMap<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, LaggingToken>>;
}

/**
 * A store that can't take part in the ledger's transactions, so none may be open while it is called. It limits by itself how many
 * of its calls run at a time, repeats failed calls, and waits for minutes if its quota is used up.
 */
export interface OutsideStore {
  /**
   * Stores the token durably. Resolves to the reason if this token could not be stored; TOKEN_NOT_EVERYWHERE if some of several
   * stores have it. If one of several stores is unavailable, rejects once the others have taken the token.
   */
  put(token: StoredToken, options?: ChangeOptions & WriteOptions): Promise<SyncError | undefined>;
  /** Removes the token of this group. A missing token counts as removed. Resolves to the reason if it could not be removed. */
  drop(user_group_id: string, options?: ChangeOptions): Promise<SyncError | undefined>;
}

/** Token tables in the ledger's database: their tokens are committed together with the ledger's records. */
export interface TokenTables {
  /** The most tokens to write or remove in one transaction. */
  readonly batchSize: number;
  /**
   * Returns, by id, why tokens could not be stored; TOKEN_NOT_EVERYWHERE if some of several tables have the token. Rejects
   * with TOKEN_NOT_STORED if a token made the database roll the transaction back: store the other tokens without it.
   */
  write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<Refusals>;
  /**
   * Stores one new token in a single step, if the lease is still held then and the ledger knows no other group that has
   * the token. Resolves to false if the token was not stored; for the reason, use `write`.
   */
  writeAtOnce(token: StoredToken, lease: Lease): Promise<boolean>;
  /**
   * Removes the tokens of these groups. A missing token counts as removed. Returns, by id, why tokens could not be removed.
   * Rejects with TOKEN_NOT_REMOVED if a token made the database roll the transaction back.
   */
  remove(ids: readonly string[], transaction: LedgerTransaction): Promise<Refusals>;
}

/**
 * One table, column, directory or path for tokens. It belongs to one scope of one ledger; the owner's mark lies beside the
 * tokens. Its methods reject as the store's do, and with TOKENS_UNMARKED if this user may use the store but may not read or
 * write marks.
 */
export interface TokenDestination {
  /** For messages, such as `the table groupsync_tokens`. */
  readonly title: string;
  /**
   * Whether there is any token. False if the destination does not exist yet. A secret store goes by the owner's mark: whether a
   * service has ever confirmed the team in it. If `expected` names groups that should have tokens, it also looks for a few
   * of them.
   */
  holdsAny(expected?: readonly string[]): Promise<boolean>;
  /** Which groups have a token there, ordered by the UTF-8 bytes of the id. Null if the destination can't be listed. */
  ids(): AsyncIterable<readonly string[]> | null;
  /** Null if nobody has marked the destination. Works before the store is prepared, and changes nothing. */
  owner(): Promise<OwnersMark | null>;
  /**
   * Replaces the mark `former` by `mark`. Resolves to false if there is another mark by now. Prepare the store first. If
   * several scopes claim a destination at once, one of them succeeds.
   */
  claim(mark: OwnersMark, former: OwnersMark | null): Promise<boolean>;
  /** Takes this mark away, so that another scope can have the destination. Leaves any other mark. The tokens stay. */
  giveUp(mark: OwnersMark): Promise<void>;
  /** For a table: which table it is; null if nobody can say. Other destinations have no such method. */
  table?(): Promise<FoundTokenTable | null>;
  /** For a hint: how an operator removes the mark, and makes the destination free for another scope. */
  release(): Promise<string>;
}
