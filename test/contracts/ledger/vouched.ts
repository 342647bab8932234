import { describe, expect, test } from "vitest";
import type { VouchedToken } from "../../../src/ports/ledger.ts";
import { aDelete, aFailed, aNotUpdated, anApplied, anApply, aRow } from "../../builders/groups.ts";
import {
  begin,
  carryOut,
  inDays,
  LATER,
  type LedgerPlace,
  leave,
  type Opened,
  opened,
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
  const withGroups = async (...ids: string[]): Promise<Opened> => {
    const at = await opened(makePlace);
    for (const id of ids) await carryOut(at, created(id));
    return at;
  };

  describe(`${name}: the tokens that it vouches for`, () => {
    test("come page by page in the order of the bytes, with all that a GET needs", async () => {
      const at = await withGroups("b", "a", "\uffff", "😀");
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
      const at = await withGroups("a", "gone", "open");
      await leave(at, "absent", { ms: 0, reads: 1 }, "gone");
      await begin(at, anApply({ user_group_id: "new" }), anApply({ kind: "update", user_group_id: "open" }));
      expect(idsIn(await allIn(at))).toEqual(["a"]);
    });

    test("can be asked for by their ids, in pages too", async () => {
      const at = await withGroups("a", "b", "c", "d");
      const of = ["d", "b", "unknown", "a"];
      expect(idsIn(await at.ledger.vouchedTokens({ limit: 100, of }))).toEqual(["a", "b", "d"]);
      expect(idsIn(await at.ledger.vouchedTokens({ limit: 1, after: "a", of }))).toEqual(["b"]);
      expect(await at.ledger.vouchedTokens({ limit: 100, of: [] })).toEqual([]);
    });

    test("of another scope are its own", async () => {
      const at = await withGroups("a");
      expect(await at.database.view("other").vouchedTokens({ limit: 9, of: "all" })).toEqual([]);
    });
  });

  describe(`${name}: the places of the tokens`, () => {
    test("are those that were kept last, of each scope its own, until they are forgotten", async () => {
      const at = await opened(makePlace);
      expect(await at.ledger.tokenPlaces()).toBeNull();
      for (const places of [["file /a/{{ user_group_id }}"], ["file /a", "table: \"ä\" 'ö' 😀"], []]) {
        await write(at, (to) => to.recordTokenPlaces(places));
        expect(await at.ledger.tokenPlaces()).toEqual(places);
        expect(await at.database.view().tokenPlaces()).toEqual(places);
      }
      expect(await at.database.view("other").tokenPlaces()).toBeNull();
      for (let times = 0; times < 2; times++) await write(at, (to) => to.recordTokenPlaces(null));
      expect(await at.ledger.tokenPlaces()).toBeNull();
    });
  });

  describe(`${name}: a token that is not in every store`, () => {
    test("is noted with the change that it came from, and the change is done", async () => {
      const at = await opened(makePlace);
      const outcome = created("a");
      await begin(at, outcome.change);
      await write(at, (to) => to.record([{ outcome, notEverywhere: LAGS, retryAt: LATER }], inDays(1)));
      expect(await lagging(at)).toMatchObject([
        { user_group_id: "a", failure: { fingerprint: "not_everywhere", ...LAGS, count: 1, retryAt: LATER } },
      ]);
      expect(await at.ledger.status()).toMatchObject({
        groups: { total: 1, in_sync: 0, under_way: 0, failing: 1 },
        failing: [{ user_group_id: "a", since: inDays(1) }],
      });
    });

    test("is counted again and again, and forgotten once it is everywhere", async () => {
      const at = await withGroups("a", "b");
      await stored(at, "a", LATER, 1);
      await stored(at, "a", LATER, 2);
      expect(await lagging(at)).toMatchObject([{ user_group_id: "a", failure: { count: 2 } }]);
      expect((await at.ledger.status()).failing).toMatchObject([{ since: inDays(1) }]);
      await stored(at, "a", null);
      expect(await lagging(at)).toEqual([]);
      expect((await at.ledger.status()).groups).toMatchObject({ in_sync: 2, failing: 0 });
    });

    test("stays known where a change of the group comes to nothing, and not where it may yet have its effect", async () => {
      const at = await withGroups("a", "b", "c");
      const update = anApply({ kind: "update", user_group_id: "a", fingerprint: "two" });
      const removal = aDelete({ user_group_id: "b" });
      for (const id of ["a", "b", "c"]) await stored(at, id, LATER);
      await leave(at, "absent", { ms: 0, reads: 1 }, "b");
      await carryOut(at, aFailed({ change: update, mayHaveHappened: false }), LATER);
      await carryOut(at, aFailed({ change: removal, mayHaveHappened: false }), LATER);
      const open = { ...update, user_group_id: "c" };
      await carryOut(at, aFailed({ change: open, mayHaveHappened: true }), LATER);
      await write(at, (to) => to.markReturned(["b"]));
      const known = { fingerprint: "not_everywhere", code: "REFUSED", count: 2 };
      expect(await lagging(at)).toMatchObject([
        { user_group_id: "a", failure: known },
        { user_group_id: "b", failure: known },
      ]);
      expect((await at.ledger.status()).failing).toMatchObject([{}, {}, { fingerprint: "two" }]);
    });

    test("takes the place of another failure, and is forgotten with the next change", async () => {
      const at = await withGroups("a");
      const update = anApply({ kind: "update", user_group_id: "a", fingerprint: "two" });
      await carryOut(at, aFailed({ change: update, mayHaveHappened: false }), LATER);
      await stored(at, "a", null);
      expect((await at.ledger.status()).failing).toMatchObject([{ fingerprint: "two", count: 1 }]);
      await stored(at, "a", LATER);
      expect((await at.ledger.status()).failing).toMatchObject([
        { fingerprint: "not_everywhere", ...LAGS, count: 1 },
      ]);
      await carryOut(at, anApplied({ kind: "updated", change: update }));
      await stored(at, "a", LATER);
      await carryOut(at, anApplied({ kind: "updated", change: update }));
      expect(await lagging(at)).toEqual([]);
    });
  });
}
