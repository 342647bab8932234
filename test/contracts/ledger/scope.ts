import { describe, expect, test } from "vitest";
import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import type { ScopeChanges, ScopeState } from "../../../src/ports/ledger/scope.ts";
import { aReadHistory, aScopeState } from "../../builders/groups.ts";
import { LATER, type LedgerPlace, NOW, opened, prepared, write } from "./rig.ts";

const SERVICE = { baseUrl: "https://service.test", teamId: Number.MAX_SAFE_INTEGER };

const CHANGES: readonly ScopeChanges[] = [
  { answeredAt: NOW },
  { service: { ...SERVICE, evidence: { probe: null, took: ["a"], kept: ["ü", "🙂"] } }, answeredAt: NOW },
  { tokens: { tables: [{ written: "table t", schema: "public", table: "t", owner: "app" }] } },
  { tokens: { complete: ["file /a/{{ user_group_id }}"] } },
  { tokens: { complete: ["file /a", "table: \"ä\" 'ö' 😀"], verifiedAt: NOW } },
  { service: { ...SERVICE, teamId: -1, evidence: { ...NO_EVIDENCE, probe: true } } },
  { tokens: { complete: [] } },
  { tokens: { verifiedAt: LATER } },
  {
    history: aReadHistory({
      ...{ table: "shop.customers", clock: { ms: 2 ** 45, reads: 2 ** 40 }, healthyAt: NOW },
      ...{ held: { code: "c0de", count: 3 }, approvals: 2 },
    }),
  },
  { tokens: { complete: null }, answeredAt: LATER },
  { history: aReadHistory({ source: null, healthyAt: null }) },
  { refreshApproved: "7" },
  { service: { ...SERVICE, teamId: null, evidence: NO_EVIDENCE } },
];

/** What the ledger keeps of a scope beside groups and runs. */
export function ledgerScopeContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the state of a scope`, () => {
    const known = ({ lease: _, ledgerId: _id, readAt: _at, ...state }: ScopeState) => state;

    test("is what was recorded last, of each scope its own, and what is left out stays as it is", async () => {
      const at = await opened(makePlace);
      const other = await prepared(at.database, "other");
      let expected = known(aScopeState());
      let answeredAt: Date | null = null;
      expect(known(await at.ledger.scope())).toEqual(expected);
      for (const changes of CHANGES) {
        await write(at, (transaction) => transaction.recordScope(changes));
        answeredAt = changes.answeredAt ?? answeredAt;
        const { answeredAt: _, ...others } = changes;
        expected = {
          ...expected,
          ...others,
          tokens: { ...expected.tokens, ...changes.tokens },
          service: { ...expected.service, ...changes.service },
        };
        // It counts once the service is known.
        if (expected.service.baseUrl)
          expected = { ...expected, service: { ...expected.service, answeredAt } };
        expect(known(await at.ledger.scope())).toEqual(expected);
        expect(known(await at.database.view().scope())).toEqual(expected);
      }
      expect(known(await other.scope())).toEqual(known(aScopeState()));
    });

    test("comes with the time on the ledger's clock, whatever its time zone", async () => {
      const place = await makePlace();
      const difference = async (): Promise<number> =>
        (await place.view().scope()).readAt.getTime() - Date.now();
      const isNow = (ms: number): boolean => Math.abs(ms) < 60_000;
      expect(await difference()).toSatisfy(isNow);
      await prepared(place);
      expect(await difference()).toSatisfy(isNow);
    });
  });
}
