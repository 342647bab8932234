import { SyncError } from "../../src/core/errors.ts";
import { type TokenPlace, tokenStoreContract } from "../contracts/token-store.ts";
import { LedgerState } from "./ledger-state.ts";
import { InMemoryLedgerTransaction } from "./ledger-transaction.ts";
import { InMemoryTokenStore, TokenState } from "./token-store.ts";

/** It looks at ids where a real store looks at tokens: those of b and d are the ones to be refused. */
async function aTokenPlace(sharesLedger: boolean): Promise<TokenPlace> {
  const state = new TokenState();
  state.sharesLedger = sharesLedger;
  let isDown = false;
  const step = async (): Promise<void> => {
    if (isDown) throw new SyncError("TOKEN_STORE_UNAVAILABLE", "no answer", { hint: "is it running?" });
  };
  return {
    store: new InMemoryTokenStore(state, step),
    sharesLedger,
    write: async (body) => {
      const transaction = new InMemoryLedgerTransaction(new LedgerState(), async () => {});
      const result = await body(transaction);
      transaction.commit();
      return result;
    },
    stored: async () => Object.fromEntries(state.tokens),
    refuseSome: async () => {
      state.refused.add("b").add("d");
    },
    keepSome: async () => {
      state.notRemovable.add("b").add("d");
    },
    breakDown: async () => {
      isDown = true;
    },
  };
}

tokenStoreContract("in memory, with the ledger", () => aTokenPlace(true));
tokenStoreContract("in memory, elsewhere", () => aTokenPlace(false));
