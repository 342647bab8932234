import type { LedgerPlace } from "../contracts/ledger/rig.ts";
import { ledgerContract } from "../contracts/ledger.ts";
import { InMemoryLedger } from "./ledger.ts";
import { LedgerState } from "./ledger-state.ts";

async function inMemory(): Promise<LedgerPlace> {
  const scopes = new Map<string, LedgerState>();
  const ledger = (scope = "default"): InMemoryLedger => {
    const state = scopes.get(scope) ?? new LedgerState();
    scopes.set(scope, state);
    return new InMemoryLedger(
      state,
      async () => {},
      () => new Date(),
    );
  };
  return { ledger, view: ledger, analyze: async () => {} };
}

ledgerContract("in memory", inMemory);
