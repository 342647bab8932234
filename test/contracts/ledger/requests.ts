import { describe, expect, test } from "vitest";
import { EXPIRED, type LedgerPlace, leaseOf, opened, prepared, TTL } from "./rig.ts";

/** What processes ask of the holder of the lease. */
export function ledgerRequestsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: requests for the lease`, () => {
    test("are seen by the holder, in the order in which they came, until they are withdrawn", async () => {
      const { ledger } = await opened(makePlace);
      expect((await ledger.openRequests()).lease).toEqual([]);
      const first = await ledger.requestLease("first", TTL);
      const second = await ledger.requestLease("second", TTL);
      expect((await ledger.openRequests()).lease).toEqual([
        { id: first, requester: "first" },
        { id: second, requester: "second" },
      ]);
      await ledger.withdrawRequests([first]);
      expect((await ledger.openRequests()).lease).toEqual([{ id: second, requester: "second" }]);
    });

    test("need no lease", async () => {
      const place = await makePlace();
      const ledger = await prepared(place);
      const id = await ledger.requestLease("somebody", TTL);
      expect((await place.ledger().openRequests()).lease).toEqual([{ id, requester: "somebody" }]);
    });

    test("end by themselves, and are deleted then", async () => {
      const { ledger } = await opened(makePlace);
      await ledger.requestLease("dead", EXPIRED);
      await ledger.requestTenant("b", "dead", EXPIRED);
      await ledger.requestLease("alive", TTL);
      expect(await ledger.openRequests()).toMatchObject({ lease: [{ requester: "alive" }], tenants: [] });
      expect((await ledger.openRequests()).lease).toMatchObject([{ requester: "alive" }]);
    });
  });

  describe(`${name}: the offer to hand the lease over`, () => {
    test("is seen as long as its holder has the lease", async () => {
      const { ledger, lease } = await opened(makePlace);
      expect(await ledger.handOver()).toBeNull();
      await ledger.offerHandOver(lease, 15_000);
      expect(await ledger.handOver()).toEqual({ epoch: lease.epoch, callMs: 15_000 });
      await ledger.renewLease(lease, TTL);
      expect(await ledger.handOver()).toEqual({ epoch: lease.epoch, callMs: 15_000 });
      await ledger.releaseLease(lease);
      expect(await ledger.handOver()).toBeNull();
      await leaseOf(ledger, "a command");
      expect(await ledger.handOver()).toBeNull();
    });

    test("is made by nobody but the holder", async () => {
      const { ledger, lease } = await opened(makePlace);
      await ledger.releaseLease(lease);
      await leaseOf(ledger, "a command");
      await ledger.offerHandOver(lease, 15_000);
      expect(await ledger.handOver()).toBeNull();
    });

    test("ends with the lease, and counts again if the lease is renewed late", async () => {
      const { ledger, lease } = await opened(makePlace);
      await ledger.offerHandOver(lease, 15_000);
      await ledger.renewLease(lease, EXPIRED);
      expect(await ledger.handOver()).toBeNull();
      await ledger.renewLease(lease, TTL);
      expect(await ledger.handOver()).not.toBeNull();
    });
  });

  describe(`${name}: requests for tenants`, () => {
    test("are seen by the holder, with whoever has made them, until they are withdrawn", async () => {
      const { ledger } = await opened(makePlace);
      const acme = await ledger.requestTenant("acme", "a standby", TTL);
      const zoe = await ledger.requestTenant("Zoë 's", "another standby", TTL);
      expect(await ledger.openRequests()).toEqual({
        lease: [],
        tenants: [
          { id: acme, user_group_id: "acme", requester: "a standby" },
          { id: zoe, user_group_id: "Zoë 's", requester: "another standby" },
        ],
      });
      await ledger.withdrawRequests([acme, "somebody has withdrawn it"]);
      expect((await ledger.openRequests()).tenants).toMatchObject([{ id: zoe }]);
    });

    test("wait once for each tenant, and the last request outlives the withdrawal of those before", async () => {
      const { ledger } = await opened(makePlace);
      const first = await ledger.requestTenant("acme", "a standby", TTL);
      await ledger.requestTenant("zoe", "a standby", TTL);
      const again = await ledger.requestTenant("acme", "another standby", TTL);
      expect((await ledger.openRequests()).tenants).toMatchObject([
        { id: again, user_group_id: "acme" },
        { user_group_id: "zoe" },
      ]);
      await ledger.withdrawRequests([first]);
      expect((await ledger.openRequests()).tenants).toHaveLength(2);
    });
  });
}
