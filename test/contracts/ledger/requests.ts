import { describe, expect, test } from "vitest";
import { EXPIRED, type LedgerPlace, prepared, TTL } from "./rig.ts";

/** What processes ask of the holder of the lease, without a lease. */
export function ledgerRequestsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: requests`, () => {
    test("are seen by all until they are withdrawn, in the order in which they came, those for the lease first", async () => {
      const place = await makePlace();
      const ledger = await prepared(place);
      const acme = { user_group_id: "acme", requester: "a standby" };
      const zoe = { user_group_id: "Zoë 's", requester: "another standby" };
      const [first, second] = ["first", "second"].map((requester) => ({ user_group_id: null, requester }));
      const made = [];
      for (const one of [acme, first, zoe, second])
        if (one) made.push({ ...one, id: await ledger.putRequest(one.user_group_id, one.requester, TTL) });
      const [one, two, three, four] = made;
      expect(await place.ledger().requests()).toEqual([two, four, one, three]);
      await ledger.dropRequests([two?.id ?? "", one?.id ?? "", "somebody has withdrawn it"]);
      expect(await place.ledger().requests()).toEqual([four, three]);
    });

    test("end by themselves", async () => {
      const ledger = await prepared(await makePlace());
      await ledger.putRequest(null, "dead", EXPIRED);
      await ledger.putRequest("b", "dead", EXPIRED);
      await ledger.putRequest(null, "alive", TTL);
      for (let times = 0; times < 2; times++)
        expect(await ledger.requests()).toMatchObject([{ requester: "alive" }]);
    });

    test("wait once for each tenant, and the last request outlives the withdrawal of those before", async () => {
      const ledger = await prepared(await makePlace());
      const first = await ledger.putRequest("acme", "a standby", TTL);
      await ledger.putRequest("zoe", "a standby", TTL);
      const again = await ledger.putRequest("acme", "another standby", TTL);
      await ledger.dropRequests([first]);
      expect(await ledger.requests()).toMatchObject([
        { id: again, user_group_id: "acme" },
        { user_group_id: "zoe" },
      ]);
    });
  });
}
