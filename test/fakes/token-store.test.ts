import { SyncError } from "../../src/core/failure/sync-error.ts";
import { leaseOf } from "../contracts/ledger/rig.ts";
import { type TokenPlace, tokenStoreContract } from "../contracts/token-store.ts";
import { inMemoryLedger } from "./ledger/ledger.ts";
import { LedgerState } from "./ledger/ledger-state.ts";
import { InMemoryTokenStore, TokenState } from "./token-store.ts";

/** Refuses by id, where a real store refuses by token: those of b and d. */
async function aTokenPlace(sharesLedger: boolean): Promise<TokenPlace> {
  const state = new TokenState();
  state.sharesLedger = sharesLedger;
  let isDown = false;
  const step = async (): Promise<void> => {
    if (isDown) throw new SyncError("TOKEN_STORE_UNAVAILABLE", "no answer", { hint: "is it running?" });
  };
  const ledger = inMemoryLedger(
    new LedgerState(),
    async () => {},
    () => new Date(),
  );
  const lease = await leaseOf(ledger);
  const store = new InMemoryTokenStore(state, step, ledger);
  return {
    store,
    ...(sharesLedger && {
      beside: {
        storesAtOnce: true,
        writeAtOnce: (token) => store.writeAtOnce(token, lease),
        loseLease: async () => {
          await ledger.releaseLease(lease);
          await ledger.acquireLease("another", 60_000);
        },
      },
    }),
    write: (body) => ledger.write(lease, body),
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
