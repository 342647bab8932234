import { RecentWrites } from "../../../src/core/record/recent-writes.ts";
import type { Ledger } from "../../../src/ports/ledger/ledger.ts";
import type { RequestId, Requests } from "../../../src/ports/ledger/requests.ts";
import type { Step } from "../instance.ts";
import { InMemoryLeases } from "./lease.ts";
import { type CommittedLedger, inMemoryReads } from "./ledger-reads.ts";
import { type LedgerState, newLedgerId, stepping } from "./ledger-state.ts";

/** `disconnect`: as if the process were gone, the database ends its transactions. */
export interface InMemoryLedger extends Ledger {
  disconnect(): void;
}

/** `now` is the database's clock, which no instance can set. */
export function inMemoryLedger(
  state: LedgerState,
  step: Step,
  now: () => Date,
  {
    batch = 3,
    recent = new RecentWrites(now()),
  }: { readonly batch?: number | undefined; readonly recent?: RecentWrites } = {},
): InMemoryLedger {
  const committed = { state, step, now, batch };
  const leases = new InMemoryLeases(state, step, now, recent);
  return {
    ...inMemoryReads(committed),
    ...stepping(requests(committed), step),
    prepare: async () => {
      await step({ when: "before", call: "prepareLedger" });
      state.id ??= newLedgerId();
    },
    acquireLease: (holder, ttlMs) => leases.acquireLease(holder, ttlMs),
    seizeLease: (from, holder, ttlMs) => leases.seizeLease(from, holder, ttlMs),
    renewLease: (lease, ttlMs) => leases.renewLease(lease, ttlMs),
    releaseLease: (lease) => leases.releaseLease(lease),
    write: (lease, body) => leases.write(lease, body),
    disconnect: () => leases.disconnect(),
  };
}

/** What processes ask of the holder of the lease. */
const requests = ({ state, now }: CommittedLedger): Requests => {
  const inMs = (ms: number): Date => new Date(now().getTime() + ms);
  const newId = (): RequestId => `request ${++state.requestsMade}`;
  const all = () =>
    [...state.requests].map(([id, { requester, user_group_id }]) => ({ id, requester, user_group_id }));
  return {
    async requestLease(requester, ttlMs) {
      const id = newId();
      state.requests.set(id, { requester, user_group_id: null, expiresAt: inMs(ttlMs) });
      return id;
    },

    async requestTenant(user_group_id, requester, ttlMs) {
      const id = newId();
      const former = all().find((other) => other.user_group_id === user_group_id)?.id ?? id;
      state.requests.set(former, { requester, user_group_id, expiresAt: inMs(ttlMs) });
      // It keeps its place.
      const renamed = [...state.requests].map(
        ([key, request]) => [key === former ? id : key, request] as const,
      );
      state.requests.clear();
      for (const [key, request] of renamed) state.requests.set(key, request);
      return id;
    },

    async withdrawRequests(ids) {
      for (const id of ids) state.requests.delete(id);
    },

    async openRequests() {
      for (const [id, { expiresAt }] of state.requests) if (expiresAt <= now()) state.requests.delete(id);
      return {
        lease: all().flatMap(({ id, requester, user_group_id }) =>
          user_group_id === null ? [{ id, requester }] : [],
        ),
        tenants: all().flatMap(({ user_group_id, ...request }) =>
          user_group_id === null ? [] : [{ ...request, user_group_id }],
        ),
      };
    },

    async offerHandOver({ epoch }, callMs) {
      if (String(state.lease?.epoch) === epoch) state.handOver = { epoch, callMs };
    },

    async handOver() {
      const { lease, handOver } = state;
      const isHeld = lease !== undefined && lease.expiresAt > now();
      return isHeld && String(lease.epoch) === handOver?.epoch ? handOver : null;
    },
  };
};
