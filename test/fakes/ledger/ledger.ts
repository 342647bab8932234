import { RecentWrites } from "../../../src/core/record/recent-writes.ts";
import type { Ledger } from "../../../src/ports/ledger/ledger.ts";
import type { LedgerRequest, Requests } from "../../../src/ports/ledger/requests.ts";
import type { LedgerPlace } from "../../contracts/ledger/rig.ts";
import type { Step } from "../instance.ts";
import { InMemoryLeases } from "./lease.ts";
import { type CommittedLedger, inMemoryReads } from "./ledger-reads.ts";
import { LedgerState, newLedgerId, type RequestRow, stepping } from "./ledger-state.ts";

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
    acquireLease: (holder, ttlMs, terms) => leases.acquireLease(holder, ttlMs, terms),
    renewLease: (lease, ttlMs) => leases.renewLease(lease, ttlMs),
    releaseLease: (lease) => leases.releaseLease(lease),
    write: (lease, body) => leases.write(lease, body),
    disconnect: () => leases.disconnect(),
  };
}

/** What processes ask of the holder of the lease. */
const requests = ({ state, now }: CommittedLedger): Requests => ({
  async putRequest(user_group_id, requester, ttlMs) {
    const id = `request ${++state.requestsMade}`;
    const isFormer = (request: RequestRow) =>
      user_group_id !== null && request.user_group_id === user_group_id;
    const former = [...state.requests].find(([, request]) => isFormer(request))?.[0] ?? id;
    state.requests.set(former, { requester, user_group_id, expiresAt: new Date(now().getTime() + ttlMs) });
    // It keeps its place.
    const renamed = [...state.requests].map(
      ([key, request]) => [key === former ? id : key, request] as const,
    );
    state.requests.clear();
    for (const [key, request] of renamed) state.requests.set(key, request);
    return id;
  },

  async dropRequests(ids) {
    for (const id of ids) state.requests.delete(id);
  },

  async requests() {
    for (const [id, { expiresAt }] of state.requests) if (expiresAt <= now()) state.requests.delete(id);
    const all = [...state.requests].map(([id, { requester, user_group_id }]) => ({
      id,
      requester,
      user_group_id,
    }));
    return [...all.filter(isForLease), ...all.filter((request) => !isForLease(request))];
  },
});

const isForLease = ({ user_group_id }: LedgerRequest): boolean => user_group_id === null;

/** For the tests that every ledger passes. */
export async function inMemoryPlace(): Promise<LedgerPlace> {
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
    analyze: async () => {},
  };
}
