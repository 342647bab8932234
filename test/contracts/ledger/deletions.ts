import { describe, expect, test } from "vitest";
import type { HeldRemoval } from "../../../src/core/deletion/removals.ts";
import { NO_READ_HISTORY, STALE_CODE } from "../../../src/core/plan/read-history.ts";
import { anApplied, anApply, aReadHistory } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import {
  begin,
  groupsOf,
  hold,
  type LedgerPlace,
  leaseOf,
  NOW,
  type Opened,
  opened,
  prepared,
  take,
  write,
} from "./rig.ts";

const remove = (user_group_id: string): HeldRemoval => ({ kind: "delete", user_group_id });
const replace = (user_group_id: string): HeldRemoval => ({ kind: "replace", user_group_id });

/** What the ledger notes of tenants that are gone, of what waits for approval, and of the reads. */
export function ledgerDeletionsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  /** A ledger in which these groups were created. */
  const withGroups = async (...ids: string[]): Promise<Opened> => {
    const at = await opened(makePlace);
    const changes = ids.map((user_group_id) => anApply({ user_group_id }));
    await begin(at, ...changes);
    await take(
      at,
      changes.map((one) => ended(anApplied({ change: one }))),
    );
    return at;
  };
  const recordCode = (at: Opened, heldCode: string) =>
    write(at, (transaction) => transaction.recordScope({ history: aReadHistory({ heldCode }) }));
  const heldIn = async (at: Opened): Promise<HeldRemoval[]> =>
    (await groupsOf(at)).flatMap(({ user_group_id, held }) => (held ? [{ kind: held, user_group_id }] : []));

  describe(`${name}: held groups`, () => {
    test("are the groups marked last, and no others", async () => {
      const at = await withGroups("a", "b", "c", "d", "e", "é", "😀");
      await hold(at, [remove("a"), replace("b")], [], [remove("d"), remove("😀")]);
      expect(await heldIn(at)).toEqual([remove("a"), replace("b"), remove("d"), remove("😀")]);
      await hold(at, [remove("b")], [replace("c"), remove("é")]);
      expect(await heldIn(at)).toEqual([remove("b"), replace("c"), remove("é")]);
      await hold(at, [remove("e")]);
      expect(await heldIn(at)).toEqual([remove("e")]);
      await hold(at);
      expect(await heldIn(at)).toEqual([]);
    });

    test("are in the status, a hundred at most, with the code that approves all", async () => {
      const ids = Array.from({ length: 101 }, (_, index) => `id ${String(index).padStart(3, "0")}`);
      const at = await withGroups(...ids);
      expect((await at.ledger.status()).held).toBeNull();

      const all = ids.map(remove);
      await hold(at, all);
      await recordCode(at, "c0de");
      expect((await at.ledger.status()).held).toEqual({
        count: 101,
        code: "c0de",
        groups: all.slice(0, 100),
      });
    });

    test("are in the status without a code if the code approves nothing any more", async () => {
      const at = await withGroups("acme");
      await hold(at, [remove("acme")]);
      await recordCode(at, STALE_CODE);
      expect((await at.ledger.status()).held).toEqual({ count: 1, code: null, groups: [remove("acme")] });
    });

    test("are in the status in the order of the bytes of their ids", async () => {
      // JavaScript's own order is the other way round.
      const all = [remove("\uff5e"), replace("😀")];
      const at = await withGroups(...all.map((held) => held.user_group_id));
      await hold(at, all);
      await recordCode(at, "c0de");
      expect((await at.ledger.status()).held).toMatchObject({ count: 2, groups: all });
    });
  });

  describe(`${name}: the read history`, () => {
    test("is empty at first, and then what was recorded last", async () => {
      const at = await opened(makePlace);
      expect((await at.ledger.scope()).history).toMatchObject(NO_READ_HISTORY);
      for (const history of [
        aReadHistory({
          table: "shop.customers",
          clock: { ms: 2 ** 45, reads: 2 ** 40 },
          healthyAt: NOW,
          heldCode: "c0de",
          approvals: 2,
        }),
        aReadHistory({ source: null, healthyAt: null }),
      ]) {
        await write(at, (transaction) => transaction.recordScope({ history }));
        expect((await at.ledger.scope()).history).toMatchObject(history);
        expect((await at.database.view().scope()).history).toMatchObject(history);
      }
    });

    test("comes with the time on the ledger's clock, whatever its time zone", async () => {
      const place = await makePlace();
      const differenceOf = async (): Promise<number> =>
        (await place.view().scope()).readAt.getTime() - Date.now();
      const isNow = (ms: number): boolean => Math.abs(ms) < 60_000;
      expect(await differenceOf()).toSatisfy(isNow);
      const ledger = await prepared(place);
      const lease = await leaseOf(ledger);
      await ledger.write(lease, (transaction) => transaction.recordScope({ history: aReadHistory() }));
      expect(await differenceOf()).toSatisfy(isNow);
    });
  });
}
