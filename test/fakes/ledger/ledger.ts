import type { Ledger } from "../../../src/ports/ledger/ledger.ts";
import type { Step } from "../instance.ts";
import { deletionReads } from "./deletions.ts";
import { groupReads } from "./groups.ts";
import { InMemoryLeases } from "./lease.ts";
import { type LedgerState, newLedgerId } from "./ledger-state.ts";
import { refreshReads } from "./refresh.ts";
import { requests } from "./requests.ts";
import { rotationReads } from "./rotations.ts";
import { rejectionReads, runReads } from "./runs.ts";
import { schemaReads } from "./schema.ts";
import { serviceReads } from "./service.ts";
import { statusReads } from "./status.ts";
import { tokenReads } from "./tokens.ts";

/** `disconnect`: as if the process were gone, the database ends its transactions. */
export interface InMemoryLedger extends Ledger {
  disconnect(): void;
}

/** `now` is the database's clock, which no instance can set. */
export function inMemoryLedger(state: LedgerState, step: Step, now: () => Date, batch = 3): InMemoryLedger {
  const committed = { state, step, now, batch };
  const leases = new InMemoryLeases(state, step, now);
  return {
    ...schemaReads(committed),
    prepare: async () => {
      await step({ when: "before", call: "prepareLedger" });
      state.id ??= newLedgerId();
    },
    ...serviceReads(committed),
    ...groupReads(committed),
    ...deletionReads(committed),
    ...rotationReads(committed),
    ...refreshReads(committed),
    ...tokenReads(committed),
    ...runReads(committed),
    ...rejectionReads(committed),
    ...statusReads(committed),
    ...requests(committed),
    acquireLease: (holder, ttlMs) => leases.acquireLease(holder, ttlMs),
    seizeLease: (from, holder, ttlMs) => leases.seizeLease(from, holder, ttlMs),
    renewLease: (lease, ttlMs) => leases.renewLease(lease, ttlMs),
    releaseLease: (lease) => leases.releaseLease(lease),
    write: (lease, body) => leases.write(lease, body),
    disconnect: () => leases.disconnect(),
  };
}
