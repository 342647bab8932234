import { describe, expect, test } from "vitest";
import { aDelete, aDeleted, anApplied, anApply } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { carryOut, inDays, type LedgerPlace, type Opened, opened, runAt, take } from "./rig.ts";

/** What becomes of groups that are deleted and replaced. */
export function ledgerRemovalsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  /** A ledger in which `acme` was created. */
  const withAcme = async (): Promise<Opened> => {
    const at = await opened(makePlace);
    await carryOut(at, anApplied());
    return at;
  };

  describe(`${name}: deleted and replaced groups`, () => {
    test("removals are counted from a time on", async () => {
      const at = await opened(makePlace);
      for (const [id, days] of [
        ["a", 0],
        ["b", 1],
        ["c", 2],
      ] as const) {
        const change = anApply({ user_group_id: id });
        await carryOut(at, anApplied({ change }));
        const outcome = aDeleted({ change: aDelete({ user_group_id: id }) });
        await take(at, [ended(outcome)], inDays(days));
      }
      expect(await at.ledger.removalsSince(inDays(1))).toBe(2);
      expect(await at.ledger.removalsSince(inDays(1, 1))).toBe(1);
    });

    test("removals are kept for ninety days", async () => {
      const at = await withAcme();
      await carryOut(at, aDeleted());
      await runAt(at, "sync", inDays(90));
      expect(await at.ledger.removalsSince(new Date(0))).toBe(1);
      await runAt(at, "sync", inDays(90, 1));
      expect(await at.ledger.removalsSince(new Date(0))).toBe(0);
    });
  });
}
