import { SyncError } from "../../src/core/errors.ts";
import type { LedgerTransaction } from "../../src/ports/ledger.ts";
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
  ): Promise<ReadonlyMap<string, SyncError>> {
    const state = this.#state;
    await this.#step({ when: "before", call: "writeTokens" });
    const store = (): void => {
      for (const { user_group_id: id, token } of tokens) {
        if (!state.refused.has(id)) state.tokens.set(id, token.reveal());
      }
    };
    if (state.sharesLedger && transaction instanceof InMemoryLedgerTransaction) transaction.enlist(store);
    else store();
    await this.#step({ when: "after", call: "writeTokens" });
    const refused = tokens.filter(({ user_group_id }) => state.refused.has(user_group_id));
    return new Map(
      refused.map(({ user_group_id }) => [
        user_group_id,
        new SyncError("TOKEN_NOT_STORED", "no room for it"),
      ]),
    );
  }
}
