import type { Canary, KnownService, ServiceReads, ServiceWrites } from "../../../src/ports/ledger/service.ts";
import type { CommittedLedger, LedgerChanges } from "./ledger-changes.ts";

export const serviceReads = ({ state, step }: CommittedLedger): ServiceReads => ({
  async service(): Promise<KnownService> {
    await step({ when: "before", call: "service" });
    return state.service;
  },

  async canary(): Promise<Canary | null> {
    await step({ when: "before", call: "canary" });
    return state.canary;
  },
});

export const serviceWrites = (ledger: LedgerChanges): ServiceWrites => ({
  async bindService(service: KnownService): Promise<void> {
    await ledger.step({ when: "before", call: "bindService" });
    ledger.enlist(() => {
      ledger.state.service = service;
      if (service.updates !== true) return;
      for (const [id, { unverified }] of ledger.state.rows)
        if (unverified === "updated") ledger.change(id, { unverified: null });
    });
  },

  async beginCanary(canary: Canary): Promise<void> {
    await ledger.step({ when: "before", call: "beginCanary" });
    ledger.enlist(() => {
      ledger.state.canary = canary;
    });
  },

  async forgetCanary(): Promise<void> {
    await ledger.step({ when: "before", call: "forgetCanary" });
    ledger.enlist(() => {
      ledger.state.canary = null;
    });
  },
});
