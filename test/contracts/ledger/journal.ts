import { describe, expect, test } from "vitest";
import { aDelete, aDeleted, anApplied, anApply } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { begin, carryOut, inDays, type LedgerPlace, NOW, opened, take } from "./rig.ts";

export function ledgerJournalContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the journal`, () => {
    test("is summed up by kind and time, and from an entry on, whatever its time", async () => {
      const at = await opened(makePlace);
      const ids = ["a", "b", "c", "d"];
      for (const user_group_id of ids) await carryOut(at, anApplied({ change: anApply({ user_group_id }) }));
      await take(at, [ended(aDeleted({ change: aDelete({ user_group_id: "d" }) }))], inDays(1));
      // The clock was ahead at first.
      for (const [id, days] of [
        ["a", 3],
        ["b", 1],
        ["c", 2],
      ] as const) {
        const change = anApply({ kind: "update", user_group_id: id, refreshes: true });
        await begin(at, change);
        const drift = id === "c" ? "token" : "gone";
        await take(at, [ended(anApplied({ kind: "updated", change, drift: [drift] }))], inDays(days));
      }
      const found = (since = NOW, after?: string) => at.ledger.journalSum(["gone", "token"], since, after);
      const { count, last } = await found();
      expect({ count, last }).toMatchObject({ count: 3, last: { user_group_id: "c", at: inDays(2) } });
      expect(await found(inDays(1, 1))).toEqual({ count: 2, last });
      expect(await at.ledger.journalSum(["gone"], NOW)).toMatchObject({
        count: 2,
        last: { user_group_id: "b" },
      });
      expect(await at.ledger.journalSum(["delete", "replace"], inDays(1))).toMatchObject({ count: 1 });
      expect(await at.ledger.journalSum(["delete", "replace"], inDays(1, 1))).toEqual({
        count: 0,
        last: null,
      });
      expect(await found(NOW, last?.id)).toEqual({ count: 0, last: null });
    });
  });
}
