import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import { anApplied, anApply } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { begin, inDays, type LedgerPlace, NOW, type Opened, opened, take, write } from "./rig.ts";

const SOON = inDays(1);
const aRefresh = (id: string) => anApply({ kind: "update", user_group_id: id, refreshes: true });

/** Which groups a refresh may ask for, and what the ledger keeps of its answers. */
export function ledgerRefreshContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  const withGroups = async (...ids: string[]): Promise<Opened> => {
    const at = await opened(makePlace);
    for (const user_group_id of ids)
      await recordAt(at, anApplied({ change: anApply({ user_group_id }) }), NOW);
    return at;
  };

  describe(`${name}: a refresh`, () => {
    test("counts what it finds apart from removals, until the operator approves it", async () => {
      const at = await withGroups("a", "b", "c");
      await runOf(at);
      const gone = (id: string) => anApplied({ change: aRefresh(id), drift: ["gone"] });
      await recordAt(at, gone("a"), NOW);
      await recordAt(at, gone("b"), SOON);
      await recordAt(at, anApplied({ kind: "updated", change: aRefresh("c"), drift: ["token"] }), SOON);
      expect(await at.ledger.removalsSince(NOW)).toBe(0);
      expect(await at.ledger.foundSince(NOW)).toEqual({ count: 3, last: { user_group_id: "c", at: SOON } });
      expect(await at.ledger.foundSince(SOON)).toMatchObject({ count: 2 });
      await write(at, (transaction) => transaction.approveRefresh(SOON));
      expect(await at.ledger.foundSince(NOW)).toEqual({ count: 0, last: null });
    });

    test("counts no group after an approval that a clock which was ahead found gone before it", async () => {
      const at = await withGroups("a", "b");
      await runOf(at);
      const gone = (id: string) => anApplied({ change: aRefresh(id), drift: ["gone"] });
      await recordAt(at, gone("a"), inDays(3));
      await write(at, (transaction) => transaction.approveRefresh(NOW));
      expect(await at.ledger.foundSince(NOW)).toMatchObject({ count: 0 });
      await recordAt(at, gone("b"), SOON);
      expect(await at.ledger.foundSince(NOW)).toMatchObject({ count: 1 });
    });
  });
}

/** The ledger has read the source once. */
const runOf = (at: Opened): Promise<void> =>
  write(at, async (transaction) => transaction.recordScope({ history: (await at.ledger.scope()).history }));

const recordAt = async (at: Opened, outcome: Outcome, now: Date): Promise<void> => {
  await begin(at, outcome.change);
  await take(at, [ended(outcome, { retryAt: inDays(2) })], now);
};
