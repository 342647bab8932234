import type { SyncError } from "../core/errors.ts";
import type { OwnersMark } from "../core/owners-mark.ts";
import type { Secret } from "../core/secret.ts";
import type { FoundTokenTable } from "../core/token-tables.ts";
import type { Lease } from "./lease.ts";
import type { Ledger, LedgerTransaction } from "./ledger.ts";

export interface StoredToken {
  readonly user_group_id: string;
  readonly token: Secret;
}

export interface ChangeOptions {
  /**
   * Throws where it has become too late: the ledger refuses that by itself, another store can't. Asked before each
   * change that the store makes.
   */
  readonly assertHeld?: () => void;
  /** Once it aborts, what fails is not tried again. */
  readonly signal?: AbortSignal;
}

export interface WriteOptions extends ChangeOptions {
  /** A token that is there already is written again: only that shows that the store takes one. */
  readonly rewrite?: boolean;
  /**
   * Of several stores, one that is away keeps no other from taking the tokens: it counts as one that refuses them. For
   * tokens whose predecessors are dead.
   */
  readonly asFarAsPossible?: boolean;
}

/**
 * Where tokens are written for the customer's application. Where the store as a whole can't be used every method rejects
 * with TOKEN_STORE_UNAVAILABLE, with TOKEN_STORE_BUSY where it asks for more patience than a transaction can have, and
 * with TOKEN_STORE_SLOW where it is too slow for so many tokens in one.
 */
export interface TokenStore {
  /** Where its tokens are: one, or several of several stores. */
  readonly destinations: readonly TokenDestination[];
  /**
   * Makes the store ready to be written; creates what groupsync owns and finds missing. Once the signal aborts, a store
   * that doesn't answer is not waited for.
   */
  prepare(signal?: AbortSignal): Promise<void>;
  /** Rejects as `prepare` would, as far as that can be seen without changing anything. */
  inspect(): Promise<void>;
  /** Whether the store holds any token at all. False where it does not exist yet. */
  holdsAny(): Promise<boolean>;
  /**
   * Stores each token durably. A store in the ledger's own database writes inside the given
   * transaction; every other commits on its own, before that transaction does.
   * Returns the tokens that could not be stored, by id. Of several stores one may have it and another not:
   * TOKEN_NOT_EVERYWHERE. Rejects with TOKEN_NOT_STORED if the transaction is lost over one of them: the others have to
   * be stored without it.
   */
  write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<ReadonlyMap<string, SyncError>>;
  /**
   * Stores one new token in a single step, if the lease is still held then and the ledger knows no other group that has
   * the token, and resolves to whether it did. False
   * says nothing of why: `write` does, and is the only way into a store that isn't in the ledger's own database.
   */
  writeAtOnce(token: StoredToken, ledger: Ledger, lease: Lease): Promise<boolean>;
  /** The stored tokens of these groups; those that have none are left out. Rejects with INTERRUPTED once the signal aborts. */
  read(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Secret>>;
  /**
   * Which of these groups lack their token in some store: with the token where another one has it, else with null.
   * `expected` has the fingerprints of the live ones. Rejects likewise.
   */
  lagging(
    expected: ReadonlyMap<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Secret | null>>;
  /**
   * Takes the tokens of these groups out of the store, as `write` puts them in; what isn't there is removed already.
   * Returns those that could not be removed, by id. Rejects likewise, with TOKEN_NOT_REMOVED.
   */
  remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<ReadonlyMap<string, SyncError>>;
}

/**
 * One place of tokens. It belongs to one scope of one ledger, whose mark lies there beside the tokens. Rejects as the
 * store does; and with TOKENS_UNMARKED where the store can be used, but this user may not read or write marks.
 */
export interface TokenDestination {
  /** For messages, such as `the table groupsync_tokens`. */
  readonly title: string;
  /** Whether there is any token. False where the destination does not exist yet. */
  holdsAny(): Promise<boolean>;
  /** Which groups have a token there, in the order of the bytes of their ids. Null for what can't be listed. */
  ids(): AsyncIterable<readonly string[]> | null;
  /** Whose it is; null where nobody has marked it. Asked before the store is prepared, and changes nothing. */
  owner(): Promise<OwnersMark | null>;
  /**
   * Puts this mark there in place of `former`, and of no other: false where another one is there by now. The store is
   * prepared. Where several claim a destination at once, one of them has it afterwards.
   */
  claim(mark: OwnersMark, former: OwnersMark | null): Promise<boolean>;
  /** Of a table: whether its database takes names that differ in case alone for one. Null for any other destination. */
  foldsCase(): Promise<boolean | null>;
  /** Of a table: which one it is. Null where nobody can say; left out for any other destination. */
  table?(): Promise<FoundTokenTable | null>;
  /** What an operator does to take the mark away, so that another scope can have the destination: for a hint. */
  release(): Promise<string>;
}
