import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { aDelete, aDeleted, aFailed, anApplied, anApply } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { begin, carryOut, LATER, type LedgerPlace, type Opened, opened, take } from "./rig.ts";

const created = (id: string) => anApplied({ change: anApply({ user_group_id: id }) });

/** Whose token it is. */
export function ledgerTokensContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: a token of two groups`, () => {
    const fingerprint = tokenFingerprint(new Secret("ugt_a"));
    const withTokens = async (...ids: string[]): Promise<Opened> => {
      const at = await opened(makePlace);
      for (const id of ids) await carryOut(at, { ...created(id), token: new Secret(`ugt_${id}`) });
      return at;
    };

    test("is found with the group that had it before, whether that still exists or not", async () => {
      const at = await withTokens("a");
      await carryOut(at, { ...created("a"), token: new Secret("ugt_a_2") });
      const isShared = async (id: string) =>
        (await at.ledger.sharedTokens(new Map([[id, fingerprint]]), "recorded")).has(id);
      expect([await isShared("a"), await isShared("b")]).toEqual([false, true]);
      await carryOut(at, aDeleted({ change: aDelete({ user_group_id: "a" }) }));
      expect([await isShared("a"), await isShared("b")]).toEqual([false, true]);
    });

    test("is found with the group that it was recorded for, and with the one that it was refused for", async () => {
      const at = await withTokens("a");
      const refused = aFailed({ change: anApply({ user_group_id: "b" }), mayHaveHappened: true });
      await begin(at, refused.change);
      await take(at, [ended(refused, { sharedToken: fingerprint, retryAt: LATER })]);
      const shared = (id: string, of: "recorded" | "all") =>
        at.ledger.sharedTokens(new Map([[id, fingerprint]]), of);
      expect([...(await shared("a", "recorded"))]).toEqual([]);
      expect([...(await shared("a", "all"))]).toEqual(["a"]);
      expect([...(await shared("b", "recorded"))]).toEqual(["b"]);
      expect([...(await at.ledger.sharedTokens(new Map(), "all"))]).toEqual([]);
      expect([
        ...(await at.database.view("other").sharedTokens(new Map([["b", fingerprint]]), "all")),
      ]).toEqual([]);

      const own = { ...created("b"), token: new Secret("ugt_b_2") };
      await take(at, [ended(own)]);
      expect([...(await shared("a", "all"))]).toEqual([]);
    });
  });
}
