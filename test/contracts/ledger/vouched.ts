import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { VouchedToken } from "../../../src/ports/ledger/groups.ts";
import { aDelete, aFailed, aNotUpdated, anApplied, anApply, aRotation, aRow } from "../../builders/groups.ts";
import {
  begin,
  carryOut,
  groupOf,
  hold,
  inDays,
  LATER,
  type LedgerPlace,
  leave,
  NOW,
  type Opened,
  opened,
  withGroups,
  write,
} from "./rig.ts";

const LAGS = { code: "TOKEN_NOT_EVERYWHERE", message: "one store has the token, and another not" };
const created = (id: string) => anApplied({ change: anApply({ user_group_id: id }) });
const idsIn = (vouched: readonly VouchedToken[]): string[] =>
  vouched.map(({ user_group_id }) => user_group_id);
const allIn = ({ ledger }: Opened) => ledger.vouchedTokens({ limit: 100, of: "all" });
const lagging = ({ ledger }: Opened) => ledger.vouchedTokens({ limit: 100, of: "not everywhere" });
const stored = (at: Opened, id: string, retryAt: Date | null, count = 1) =>
  write(at, (to) =>
    to.recordStored([{ user_group_id: id, failure: retryAt && { ...LAGS, retryAt, count } }], inDays(count)),
  );

/** Which tokens have to be in the stores, and which are not in all of them. */
export function ledgerVouchedContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the tokens that it vouches for`, () => {
    test("come page by page in the order of the bytes, with all that a GET needs", async () => {
      const at = await withGroups(makePlace, ["b", "a", "\uffff", "😀"]);
      expect(idsIn(await allIn(at))).toEqual(["a", "b", "\uffff", "😀"]);
      const page = await at.ledger.vouchedTokens({ limit: 2, after: "a", of: "all" });
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
      expect(await allIn(at)).toEqual([
        { user_group_id: "a", tokenFingerprint: expect.any(String), confirmed: null, failure: null },
      ]);
    });

    test("are those of groups at rest: none that is under way, gone, or was never confirmed", async () => {
      const at = await withGroups(makePlace, ["a", "gone", "open"]);
      await leave(at, "absent", { ms: 0, reads: 1 }, "gone");
      await begin(at, anApply({ user_group_id: "new" }), anApply({ kind: "update", user_group_id: "open" }));
      expect(idsIn(await allIn(at))).toEqual(["a"]);
    });

    test("can be asked for by their ids, in pages too", async () => {
      const at = await withGroups(makePlace, ["a", "b", "c", "d"]);
      const of = ["d", "b", "unknown", "a"];
      expect(idsIn(await at.ledger.vouchedTokens({ limit: 100, of }))).toEqual(["a", "b", "d"]);
      expect(idsIn(await at.ledger.vouchedTokens({ limit: 1, after: "a", of }))).toEqual(["b"]);
      expect(await at.ledger.vouchedTokens({ limit: 100, of: [] })).toEqual([]);
    });
  });

  describe(`${name}: the places of the tokens`, () => {
    test("are those that were kept last, until they are forgotten, and their tables and the last check stay", async () => {
      const at = await opened(makePlace);
      const table = { written: "table t", schema: "public", table: "t", owner: "app" };
      await write(at, (to) => to.recordTokenTables([table]));
      await write(at, (to) => to.recordTokensVerified(NOW));
      expect(await at.ledger.tokenDestinations()).toBeNull();
      for (const places of [["file /a/{{ user_group_id }}"], ["file /a", "table: \"ä\" 'ö' 😀"], []]) {
        await write(at, (to) => to.recordTokenDestinations(places));
        expect(await at.ledger.tokenDestinations()).toEqual(places);
      }
      await write(at, (to) => to.recordTokensVerified(LATER));
      for (let times = 0; times < 2; times++) await write(at, (to) => to.recordTokenDestinations(null));
      const view = at.database.view();
      expect(await view.tokenDestinations()).toBeNull();
      expect(await view.tokenTables()).toEqual([table]);
      expect(await view.tokensVerifiedAt()).toEqual(LATER);
    });
  });

  describe(`${name}: a token of two groups`, () => {
    const fingerprint = tokenFingerprint(new Secret("ugt_a"));
    const withTokens = async (...ids: string[]): Promise<Opened> => {
      const at = await opened(makePlace);
      for (const id of ids) await carryOut(at, { ...created(id), token: new Secret(`ugt_${id}`) });
      return at;
    };

    test("is found with the group that it was recorded for, and with the one that it was refused for", async () => {
      const at = await withTokens("a");
      const refused = aFailed({ change: anApply({ user_group_id: "b" }), mayHaveHappened: true });
      await begin(at, refused.change);
      await write(at, (to) =>
        to.record([{ outcome: refused, sharedToken: fingerprint, retryAt: LATER }], NOW),
      );
      const shared = (id: string, of: "recorded" | "all") =>
        at.ledger.sharedTokens(new Map([[id, fingerprint]]), of);
      expect([...(await shared("a", "recorded"))]).toEqual([]);
      expect([...(await shared("a", "all"))]).toEqual(["a"]);
      expect([...(await shared("b", "recorded"))]).toEqual(["b"]);
      expect([...(await at.ledger.sharedTokens(new Map(), "all"))]).toEqual([]);

      const own = { ...created("b"), token: new Secret("ugt_b_2") };
      await write(at, (to) => to.record([{ outcome: own }], NOW));
      expect([...(await shared("a", "all"))]).toEqual([]);
    });

    test("is noted of a rotation, too, until that has one of its own", async () => {
      const at = await withTokens("a", "b");
      const failure = { code: "TOKEN_SHARED", message: "the service gives it another's", retryAt: LATER };
      const shared = {
        user_group_id: "b",
        tokenFingerprint: null,
        sharedToken: fingerprint,
        failure,
        isOpen: true,
      };
      await write(at, (to) => to.recordRotation(shared, NOW));
      const ofA = () => at.ledger.sharedTokens(new Map([["a", fingerprint]]), "all");
      expect([...(await ofA())]).toEqual(["a"]);
      await write(at, (to) => to.recordRotation(aRotation({ user_group_id: "b" }), NOW));
      expect([...(await ofA())]).toEqual([]);
    });
  });

  describe(`${name}: a token that is not in every store`, () => {
    test("is noted with the change that it came from, and the change is done", async () => {
      const at = await opened(makePlace);
      const outcome = created("a");
      await begin(at, outcome.change);
      await write(at, (to) => to.record([{ outcome, notEverywhere: LAGS, retryAt: LATER }], inDays(1)));
      expect(await lagging(at)).toMatchObject([
        { user_group_id: "a", failure: { ...LAGS, count: 1, retryAt: LATER } },
      ]);
      expect(await at.ledger.status()).toMatchObject({
        groups: { total: 1, in_sync: 0, under_way: 0, failing: 1 },
        failing: [{ user_group_id: "a", since: inDays(1) }],
      });
    });

    test("is counted again and again, and forgotten once it is everywhere", async () => {
      const at = await withGroups(makePlace, ["a", "b"]);
      await stored(at, "a", LATER, 1);
      await stored(at, "a", LATER, 2);
      expect(await lagging(at)).toMatchObject([{ user_group_id: "a", failure: { count: 2 } }]);
      expect((await at.ledger.status()).failing).toMatchObject([{ since: inDays(1) }]);
      await stored(at, "a", null);
      expect(await lagging(at)).toEqual([]);
      expect((await at.ledger.status()).groups).toMatchObject({ in_sync: 2, failing: 0 });
    });

    const update = (id: string, more: object = {}) =>
      anApply({ kind: "update", user_group_id: id, fingerprint: "two", ...more });
    const TWICE = { ...LAGS, code: "STILL_NOT", message: "it is nowhere" };

    test("stays as it is where a change of the group fails, whatever may yet come of that", async () => {
      const at = await withGroups(makePlace, ["a", "b", "c"]);
      for (const id of ["a", "b", "c"]) await stored(at, id, LATER);
      await leave(at, "absent", { ms: 0, reads: 1 }, "b");
      await carryOut(at, aFailed({ change: update("a"), mayHaveHappened: false }), inDays(9));
      const removal = aDelete({ user_group_id: "b" });
      await carryOut(at, aFailed({ change: removal, mayHaveHappened: false }), inDays(9));
      await carryOut(at, aFailed({ change: update("c"), mayHaveHappened: true }), inDays(9));
      await write(at, (to) => to.markReturned(["b"]));
      const known = { ...LAGS, count: 1, retryAt: LATER };
      expect(await lagging(at)).toMatchObject([
        { user_group_id: "a", failure: known },
        { user_group_id: "b", failure: known },
      ]);
      const failure = { fingerprint: "two", code: "REFUSED", count: 1, retryAt: inDays(9) };
      expect(await groupOf(at, "a")).toMatchObject({ failures: { change: failure } });
      expect(await begin(at, update("c"))).toMatchObject([
        { before: { failures: { change: 1, storing: 1 } } },
      ]);
    });

    test("is forgotten where a GET told the token, though the service kept an older state of the group", async () => {
      const at = await withGroups(makePlace, ["a"]);
      await stored(at, "a", LATER);
      await carryOut(at, aNotUpdated({ change: update("a") }), LATER);
      expect(await lagging(at)).toEqual([]);
      expect((await at.ledger.status()).failing).toMatchObject([{ code: "NOT_UPDATED" }]);
    });

    test("is asked for with a GET of its own, which leaves the failure of a change as it is", async () => {
      const at = await withGroups(makePlace, ["a"]);
      await carryOut(at, aFailed({ change: update("a"), mayHaveHappened: false }), inDays(9));
      const before = await groupOf(at, "a");
      await stored(at, "a", LATER);
      const change = anApply({ kind: "update", user_group_id: "a", restores: true });

      await carryOut(at, aFailed({ change, failure: TWICE, mayHaveHappened: false }), inDays(8));
      expect(await lagging(at)).toMatchObject([{ failure: { ...TWICE, count: 2, retryAt: inDays(8) } }]);
      expect((await groupOf(at, "a"))?.failures.change).toEqual(before?.failures.change);

      await begin(at, change);
      const outcome = anApplied({ kind: "updated", change });
      await write(at, (to) => to.record([{ outcome, notEverywhere: LAGS, retryAt: LATER }], inDays(1)));
      expect(await lagging(at)).toMatchObject([{ failure: { ...LAGS, count: 3, retryAt: LATER } }]);
      expect((await groupOf(at, "a"))?.failures.change).toEqual(before?.failures.change);

      await carryOut(at, outcome);
      expect(await lagging(at)).toEqual([]);
      expect(await groupOf(at, "a")).toEqual(before);

      await carryOut(at, aFailed({ change, failure: TWICE, mayHaveHappened: true }), inDays(8));
      expect(await groupOf(at, "a")).toMatchObject({
        intent: "apply",
        failures: { change: before?.failures.change },
      });
    });

    test("is asked for, which says nothing of an absence that was found meanwhile", async () => {
      const at = await withGroups(makePlace, ["a"]);
      const change = anApply({ kind: "update", user_group_id: "a", restores: true });
      await begin(at, change);
      await leave(at, "estranged", { ms: 0, reads: 1 }, "a");
      await hold(at, [{ kind: "delete", user_group_id: "a" }]);
      const left = { absence: { kind: "estranged" }, held: "delete" };

      await carryOut(at, aFailed({ change, failure: TWICE, mayHaveHappened: false }), inDays(8));
      expect(await groupOf(at, "a")).toMatchObject(left);
      await carryOut(at, anApplied({ kind: "updated", change }));
      expect(await groupOf(at, "a")).toMatchObject(left);
    });
  });
}
