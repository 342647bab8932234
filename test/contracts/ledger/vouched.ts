import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { type VouchedToken, vouchedToken } from "../../../src/core/record/candidates.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { TokenDestinations } from "../../../src/ports/ledger/scope.ts";
import { aDelete, aDeleted, aFailed, aNotUpdated, anApplied, anApply, aRow } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import {
  begin,
  carryOut,
  LATER,
  type LedgerPlace,
  leave,
  NOW,
  type Opened,
  opened,
  take,
  write,
} from "./rig.ts";

const created = (id: string) => anApplied({ change: anApply({ user_group_id: id }) });
const idsIn = (vouched: readonly VouchedToken[]): string[] =>
  vouched.map(({ user_group_id }) => user_group_id);

/** A page of the tokens, after the group with that id. */
async function vouchedIn(
  { ledger }: Opened,
  {
    of = "all",
    limit = 100,
    after,
  }: { of?: "all" | "not everywhere" | readonly string[]; limit?: number; after?: string } = {},
): Promise<VouchedToken[]> {
  const last = after === undefined ? undefined : (await ledger.records([after])).get(after);
  const page = await ledger.candidates({ kind: "vouched", of }, { limit, after: last });
  return page.flatMap((record) => vouchedToken(record) ?? []);
}

/** Which tokens have to be in the stores, and which are not in all of them. */
export function ledgerVouchedContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  const withGroups = async (...ids: string[]): Promise<Opened> => {
    const at = await opened(makePlace);
    for (const id of ids) await carryOut(at, created(id));
    return at;
  };

  describe(`${name}: the tokens that it vouches for`, () => {
    test("come page by page in the order of the bytes, with all that a GET needs", async () => {
      const at = await withGroups("b", "a", "\uffff", "😀");
      expect(idsIn(await vouchedIn(at))).toEqual(["a", "b", "\uffff", "😀"]);
      const page = await vouchedIn(at, { limit: 2, after: "a" });
      expect(idsIn(page)).toEqual(["b", "\uffff"]);
      const { change, token: _ } = created("b");
      expect(page[0]).toEqual({
        user_group_id: "b",
        tokenFingerprint: expect.any(String),
        confirmed: {
          group: change.group,
          fingerprint: change.fingerprint,
          row: aRow(),
          dataSourceId: change.dataSourceId,
        },
        failure: null,
      });
    });

    test("are known also where it isn't known what the service has", async () => {
      const at = await opened(makePlace);
      const change = anApply({ user_group_id: "a" });
      const failure = { code: "NOT_UPDATED", message: "it still has the old name" };
      await carryOut(at, aNotUpdated({ change, failure }), LATER);
      expect(await vouchedIn(at)).toEqual([
        { user_group_id: "a", tokenFingerprint: expect.any(String), confirmed: null, failure: null },
      ]);
    });

    test("are those of groups at rest: none that is under way, gone, or was never confirmed", async () => {
      const at = await withGroups("a", "gone", "open");
      await leave(at, "absent", { ms: 0, reads: 1 }, ["gone"]);
      await begin(at, anApply({ user_group_id: "new" }), anApply({ kind: "update", user_group_id: "open" }));
      expect(idsIn(await vouchedIn(at))).toEqual(["a"]);
    });

    test("can be those alone that are known to be missing in a store", async () => {
      const at = await withGroups("a", "c");
      const notEverywhere = { code: "TOKEN_NOT_EVERYWHERE", message: "one store has it" };
      await begin(at, created("b").change);
      await take(at, [ended(created("b"), { notEverywhere, retryAt: LATER })]);
      expect(idsIn(await vouchedIn(at))).toEqual(["a", "b", "c"]);
      expect(await vouchedIn(at, { of: "not everywhere" })).toMatchObject([
        { user_group_id: "b", failure: { ...notEverywhere, count: 1, retryAt: LATER } },
      ]);
    });

    test("can be asked for by their ids, in pages too", async () => {
      const at = await withGroups("a", "b", "c", "d");
      const of = ["d", "b", "unknown", "a"];
      expect(idsIn(await vouchedIn(at, { of }))).toEqual(["a", "b", "d"]);
      expect(idsIn(await vouchedIn(at, { limit: 1, after: "a", of }))).toEqual(["b"]);
      expect(await vouchedIn(at, { of: [] })).toEqual([]);
    });
  });

  describe(`${name}: the places of the tokens`, () => {
    test("are those that were kept last, of each scope its own, and what is left out stays as it is", async () => {
      const at = await opened(makePlace);
      const none = { complete: null, verifiedAt: null, tables: [] };
      const tables = [{ written: "table t", schema: "public", table: "t", owner: "app" }];
      let expected: TokenDestinations = none;
      expect((await at.ledger.scope()).tokens).toEqual(none);
      for (const changes of [
        { tables },
        { complete: ["file /a/{{ user_group_id }}"] },
        { complete: ["file /a", "table: \"ä\" 'ö' 😀"], verifiedAt: NOW },
        { complete: [] },
        { verifiedAt: LATER },
        { complete: null },
        { complete: null },
      ]) {
        await write(at, (to) => to.recordScope({ tokens: changes }));
        expected = { ...expected, ...changes };
        expect((await at.ledger.scope()).tokens).toEqual(expected);
        expect((await at.database.view().scope()).tokens).toEqual(expected);
      }
      expect((await at.database.view("other").scope()).tokens).toEqual(none);
    });
  });

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
