import type { SyncError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import type { Lease, Ledger, LedgerTransaction } from "./ledger.ts";

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
  /**
   * Makes the store ready to be written; creates what groupsync owns and finds missing. Once the signal aborts, a store
   * that doesn't answer is not waited for.
   */
  prepare(signal?: AbortSignal): Promise<void>;
  /** Whether the store holds any token at all. False where it does not exist yet. */
  holdsAny(): Promise<boolean>;
  /**
   * Stores each token durably. A store in the ledger's own database writes inside the given
   * transaction; every other commits on its own, before that transaction does.
   * Returns the tokens that could not be stored, by id. Of several stores one may have it and another not:
   * TOKEN_NOT_EVERYWHERE.
   */
  write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<ReadonlyMap<string, SyncError>>;
  /**
   * Stores one new token in a single step, if the lease is still held then, and resolves to whether it did. False
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
   * Returns those that could not be removed, by id.
   */
  remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<ReadonlyMap<string, SyncError>>;
}
