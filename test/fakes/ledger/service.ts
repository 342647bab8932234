import type {
  BoundService,
  Canary,
  KnownService,
  ServiceReads,
  ServiceWrites,
} from "../../../src/ports/ledger/scope.ts";
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
  async bindService({ baseUrl, teamId, updates, isProbed }: BoundService): Promise<void> {
    await ledger.step({ when: "before", call: "bindService" });
    ledger.enlist(() => {
      ledger.state.service = { ...ledger.state.service, baseUrl, teamId, updates, isProbed };
      if (updates !== true) return;
      for (const [id, { unverified }] of ledger.state.rows)
        if (unverified === "updated") ledger.change(id, { unverified: null });
    });
  },

  async recordAnswer(at: Date): Promise<void> {
    await ledger.step({ when: "before", call: "recordAnswer" });
    ledger.enlist(() => {
      const { service } = ledger.state;
      if (service.baseUrl !== null) ledger.state.service = { ...service, answeredAt: at };
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
