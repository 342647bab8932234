import type { LedgerPlace } from "../../contracts/ledger/rig.ts";
import { ledgerContract } from "../../contracts/ledger.ts";
import { type InMemoryLedger, inMemoryLedger } from "./ledger.ts";
import { LedgerState } from "./ledger-state.ts";

async function inMemory(): Promise<LedgerPlace> {
  const scopes = new Map<string, LedgerState>();
  const stateOf = (scope = "default"): LedgerState => {
    const state = scopes.get(scope) ?? new LedgerState();
    scopes.set(scope, state);
    return state;
  };
  const ledger = (scope?: string): InMemoryLedger =>
    inMemoryLedger(
      stateOf(scope),
      async () => {},
      () => new Date(),
    );
  return {
    ledger,
    view: ledger,
    formerTokens: async (scope) => stateOf(scope).formerTokens,
    analyze: async () => {},
  };
}

ledgerContract("in memory", inMemory);
