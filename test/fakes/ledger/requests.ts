import type { RequestId, Requests, TenantRequest } from "../../../src/ports/ledger/lease.ts";
import type { CommittedLedger } from "./ledger-changes.ts";
import type { RequestRow } from "./ledger-state.ts";

export function requests({ state, step, now }: CommittedLedger): Requests {
  const inMs = (ms: number): Date => new Date(now().getTime() + ms);
  const asked = (call: string): Promise<void> => step({ when: "before", call });
  const ask = (request: Omit<RequestRow, "expiresAt">, ttlMs: number): RequestId => {
    const id = `request ${++state.requestsMade}`;
    state.requests.set(id, { ...request, expiresAt: inMs(ttlMs) });
    return id;
  };
  const open = (kind: RequestRow["kind"]): TenantRequest[] =>
    [...state.requests]
      .filter(([, request]) => request.kind === kind)
      .map(([id, { requester, user_group_id }]) => ({ id, requester, user_group_id: user_group_id ?? "" }));
  return {
    async requestLease(requester, ttlMs) {
      await asked("requestLease");
      return ask({ kind: "lease", requester, user_group_id: null }, ttlMs);
    },
    async requestTenant(user_group_id, requester, ttlMs) {
      await asked("requestTenant");
      const waiting = [...state.requests].find(([, request]) => request.user_group_id === user_group_id);
      if (!waiting) return ask({ kind: "tenant", requester, user_group_id }, ttlMs);
      // It keeps its place, under a new id.
      const [former, request] = waiting;
      const id = `request ${++state.requestsMade}`;
      const all = [...state.requests].map(([key, value]): [string, RequestRow] =>
        key === former ? [id, { ...request, expiresAt: inMs(ttlMs) }] : [key, value],
      );
      state.requests.clear();
      for (const [key, value] of all) state.requests.set(key, value);
      return id;
    },
    async withdrawRequests(ids) {
      await asked("withdrawRequests");
      for (const id of ids) state.requests.delete(id);
    },
    async openRequests() {
      await asked("openRequests");
      for (const [id, { expiresAt }] of state.requests) if (expiresAt <= now()) state.requests.delete(id);
      return {
        lease: open("lease").map(({ id, requester }) => ({ id, requester })),
        tenants: open("tenant"),
      };
    },
    async offerHandOver({ epoch }, callMs) {
      await asked("offerHandOver");
      if (String(state.lease?.epoch) === epoch) state.handOver = { epoch, callMs };
    },
    async handOver() {
      await asked("handOver");
      const { lease, handOver } = state;
      const isHeld = lease !== undefined && lease.expiresAt > now();
      return isHeld && String(lease.epoch) === handOver?.epoch ? handOver : null;
    },
  };
}
