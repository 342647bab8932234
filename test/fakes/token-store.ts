import { SyncError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Lease, Ledger, LedgerTransaction } from "../../src/ports/ledger.ts";
import type { StoredToken, TokenStore } from "../../src/ports/token-store.ts";
import type { Step } from "./instance.ts";
import { InMemoryLedgerTransaction } from "./ledger-transaction.ts";

/** What is stored: it outlives whoever writes it. */
export class TokenState {
  readonly tokens = new Map<string, string>();
  /** Whether tokens and ledger are in one database, and so in one transaction. */
  sharesLedger = false;
  /** Ids whose tokens don't fit, for whatever reason. */
  readonly refused = new Set<string>();
  /** Ids whose tokens can't be taken out again. */
  readonly notRemovable = new Set<string>();
}

export class InMemoryTokenStore implements TokenStore {
  readonly #state: TokenState;
  readonly #step: Step;

  constructor(state: TokenState, step: Step) {
    this.#state = state;
    this.#step = step;
  }

  prepare(): Promise<void> {
    return this.#step({ when: "before", call: "prepareTokens" });
  }

  async holdsAny(): Promise<boolean> {
    await this.#step({ when: "before", call: "holdsAny" });
    return this.#state.tokens.size > 0;
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    { rewrite = false }: { readonly rewrite?: boolean } = {},
  ): Promise<ReadonlyMap<string, SyncError>> {
    const { tokens: stored, refused } = this.#state;
    await this.#step({ when: "before", call: "writeTokens" });
    const isThere = ({ user_group_id: id, token }: StoredToken): boolean => stored.get(id) === token.reveal();
    const written = tokens.filter((entry) => rewrite || !isThere(entry));
    const ids = written.map((entry) => entry.user_group_id).filter((id) => refused.has(id));
    this.#change(transaction, () => {
      for (const { user_group_id: id, token } of written)
        if (!refused.has(id)) stored.set(id, token.reveal());
    });
    await this.#step({ when: "after", call: "writeTokens" });
    return new Map(ids.map((id) => [id, new SyncError("TOKEN_NOT_STORED", "no room for it", HINT)]));
  }

  async writeAtOnce(token: StoredToken, ledger: Ledger, lease: Lease): Promise<boolean> {
    if (!this.#state.sharesLedger || this.#state.refused.has(token.user_group_id)) return false;
    await ledger.write(lease, (transaction) => this.write([token], transaction));
    return true;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    await this.#step({ when: "before", call: "readTokens" });
    const { tokens } = this.#state;
    return new Map(
      ids.flatMap((id) => {
        const token = tokens.get(id);
        return token === undefined ? [] : [[id, new Secret(token)]];
      }),
    );
  }

  async remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
  ): Promise<ReadonlyMap<string, SyncError>> {
    const { tokens: stored, notRemovable } = this.#state;
    await this.#step({ when: "before", call: "removeTokens" });
    this.#change(transaction, () => {
      for (const id of ids) if (!notRemovable.has(id)) stored.delete(id);
    });
    await this.#step({ when: "after", call: "removeTokens" });
    const kept = ids.filter((id) => notRemovable.has(id) && stored.has(id));
    return new Map(kept.map((id) => [id, new SyncError("TOKEN_NOT_REMOVED", "it is stuck", HINT)]));
  }

  #change(transaction: LedgerTransaction, change: () => void): void {
    if (this.#state.sharesLedger && transaction instanceof InMemoryLedgerTransaction)
      transaction.enlist(change);
    else change();
  }
}

const HINT = { hint: "make room" };
