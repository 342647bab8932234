import type { KnownService, ServiceReads, ServiceWrites } from "../../../src/ports/ledger/service.ts";
import type { CommittedLedger, LedgerChanges } from "./ledger-changes.ts";

export const serviceReads = ({ state, step }: CommittedLedger): ServiceReads => ({
  async service(): Promise<KnownService> {
    await step({ when: "before", call: "service" });
    return state.service;
  },
});

export const serviceWrites = (ledger: LedgerChanges): ServiceWrites => ({
  async bindService(service: KnownService): Promise<void> {
    await ledger.step({ when: "before", call: "bindService" });
    ledger.enlist(() => {
      ledger.state.service = service;
      if (service.updates !== true) return;
      for (const id of ledger.state.rows.keys()) ledger.change(id, { unverified: null });
    });
  },
});
