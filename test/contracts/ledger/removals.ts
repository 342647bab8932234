import { describe, expect, test } from "vitest";
import { DELETED } from "../../../src/core/plan/change.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import {
  aChangeFailure,
  aDelete,
  aDeleted,
  aFailed,
  aGroup,
  aKnownGroup,
  aLedgerGroup,
  aNotUpdated,
  anApplied,
  anApply,
  aReplace,
  failures,
} from "../../builders/groups.ts";
import {
  begin,
  carryOut,
  create,
  groupOf,
  groupsOf,
  hold,
  inDays,
  knownOf,
  LATER,
  type LedgerPlace,
  leave,
  NOW,
  opened,
  record,
  runAt,
  withGroups,
  write,
} from "./rig.ts";

const atRest = aLedgerGroup();
const absent = { kind: "absent", since: NOW, at: { ms: 5, reads: 2 } } as const;

/** What becomes of groups that are deleted and replaced. */
export function ledgerRemovalsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: deleted and replaced groups`, () => {
    test("a delete is under way from begin on, with what was known", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ change: anApply({ dataSourceId: "ds" }) }));
      const change = aDelete();
      expect(await begin(at, change)).toEqual([{ change, before: aKnownGroup({ dataSourceId: "ds" }) }]);
      expect(await groupOf(at)).toEqual({ ...atRest, intent: "delete" });
      expect((await at.ledger.buckets({ unverifiedAtRest: true }))[0]).toMatchObject({ restless: 1 });
    });

    test("a replacement is under way from begin on, also of a group that was never confirmed", async () => {
      const at = await withGroups(makePlace);
      await begin(at, aReplace(), aReplace({ user_group_id: "b" }));
      expect((await groupsOf(at)).map(({ intent }) => intent)).toEqual(["replace", "replace"]);
    });

    test("only what the ledger knows can be deleted", async () => {
      const at = await withGroups(makePlace);
      const unknown = aDelete({ user_group_id: "unknown" });
      const begun = await begin(at, unknown, aDelete());
      expect(begun).toEqual([
        { change: unknown, before: null },
        { change: aDelete(), before: aKnownGroup() },
      ]);
      expect(await groupsOf(at)).toEqual([{ ...atRest, intent: "delete" }]);
      await write(at, (transaction) => transaction.withdraw(begun));
      expect(await groupsOf(at)).toEqual([atRest]);
    });

    test("the newest intent stands, and withdraw puts the one before it back", async () => {
      const at = await withGroups(makePlace);
      await begin(at, aReplace({ user_group_id: "b" }));
      await begin(at, anApply({ user_group_id: "c" }));
      const before = await groupsOf(at);
      const begun = await begin(
        at,
        aDelete(),
        aDelete({ user_group_id: "b" }),
        aDelete({ user_group_id: "c" }),
      );
      expect(begun.map((entry) => entry.before?.intent)).toEqual([null, "replace", "apply"]);
      expect((await groupsOf(at)).map(({ intent }) => intent)).toEqual(["delete", "delete", "delete"]);
      await write(at, (transaction) => transaction.withdraw(begun));
      expect(await groupsOf(at)).toEqual(before);
    });

    test("a group that was deleted is forgotten, and counts as a removal", async () => {
      const at = await withGroups(makePlace);
      await carryOut(at, anApplied({ change: anApply({ user_group_id: "b" }) }));
      await carryOut(at, aDeleted());
      expect((await groupsOf(at)).map((group) => group.user_group_id)).toEqual(["b"]);
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map());
      expect(await at.ledger.removalsSince(NOW)).toBe(1);

      expect(await begin(at, anApply())).toEqual([{ change: anApply(), before: null }]);
    });

    test("a deleted group whose token is still stored stays until that is removed, and counts once", async () => {
      const at = await withGroups(makePlace);
      await leave(at, "absent", { ms: 5, reads: 2 }, "acme");
      await begin(at, aDelete());
      const notRemoved = { code: "TOKEN_NOT_REMOVED", message: "still needed" };
      const kept = { outcome: aDeleted(), notRemoved, retryAt: LATER };
      await write(at, (transaction) => transaction.record([kept], NOW));
      const change = aChangeFailure({ ...notRemoved, fingerprint: DELETED, count: 1, retryAt: LATER });
      const unborn = { ...atRest, fingerprint: null, row: null, failures: failures({ change }) };
      const left = { ...unborn, intent: "remove", absence: absent };
      expect(await groupsOf(at)).toEqual([left]);
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map());
      expect(await at.database.formerTokens()).toHaveLength(1);
      expect(await at.ledger.removalsSince(NOW)).toBe(1);

      const [begun] = await begin(at, aDelete());
      expect(begun?.before).toMatchObject({ intent: "remove", fingerprint: null, tokenFingerprint: null });
      expect(await groupOf(at)).toMatchObject({ intent: "remove" });
      await record(at, aDeleted());
      expect(await groupsOf(at)).toEqual([]);
      expect(await at.database.formerTokens()).toHaveLength(1);
      expect(await at.ledger.removalsSince(NOW)).toBe(1);
    });

    test("a group that was replaced is at rest, and counts as a removal", async () => {
      const at = await withGroups(makePlace);
      const change = aReplace({ group: aGroup({ name: "Acme 2" }), fingerprint: "new", dataSourceId: "ds" });
      await carryOut(at, anApplied({ kind: "replaced", change, serviceName: "Acme 2" }));
      expect(await groupsOf(at)).toEqual([{ ...atRest, fingerprint: "new" }]);
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map([["acme", change.group]]));
      expect(await at.ledger.removalsSince(NOW)).toBe(1);
      expect(await knownOf(at, change)).toEqual(
        aKnownGroup({ name: "Acme 2", acceptedName: "Acme 2", fingerprint: "new", dataSourceId: "ds" }),
      );
    });

    test("a group that was removed and made again counts as a removal, even if it isn't updated yet", async () => {
      const at = await withGroups(makePlace);
      await carryOut(at, aNotUpdated({ wasRemoved: true }), LATER);
      expect(await at.ledger.removalsSince(NOW)).toBe(1);
    });

    test("nothing else counts as a removal", async () => {
      const at = await opened(makePlace);
      for (const kind of ["created", "adopted", "updated"] as const) await carryOut(at, anApplied({ kind }));
      await carryOut(at, aNotUpdated(), LATER);
      for (const change of [anApply(), aReplace(), aDelete()]) {
        await carryOut(at, aFailed({ change, mayHaveHappened: true }), LATER);
      }
      expect(await at.ledger.removalsSince(new Date(0))).toBe(0);
    });

    test("many outcomes of all kinds are recorded together", async () => {
      const at = await opened(makePlace);
      await create(at, ["applied", "deleted", "failed", "replaced", "undeleted"]);
      const outcomes = [
        anApplied({
          kind: "updated",
          change: anApply({ kind: "update", user_group_id: "applied", fingerprint: "new" }),
          token: new Secret("another"),
        }),
        aDeleted({ change: aDelete({ user_group_id: "deleted" }) }),
        aFailed({ change: anApply({ user_group_id: "failed" }) }),
        anApplied({ kind: "replaced", change: aReplace({ user_group_id: "replaced", fingerprint: "new" }) }),
        aFailed({ change: aDelete({ user_group_id: "undeleted" }) }),
      ];
      await begin(at, ...outcomes.map(({ change }) => change));
      await write(at, (transaction) =>
        transaction.record(
          outcomes.map((outcome) => ({ outcome, retryAt: LATER })),
          NOW,
        ),
      );
      expect(await groupsOf(at)).toMatchObject([
        { user_group_id: "applied", fingerprint: "new", intent: null, failures: failures() },
        { user_group_id: "failed", intent: null, failures: { change: { count: 1 } } },
        { user_group_id: "replaced", fingerprint: "new", intent: null, failures: failures() },
        { user_group_id: "undeleted", intent: null, failures: { change: { fingerprint: DELETED } } },
      ]);
      expect(await at.ledger.removalsSince(NOW)).toBe(2);
      const former = await at.database.formerTokens();
      expect(former.map(({ user_group_id }) => user_group_id).sort()).toEqual(["applied", "deleted"]);
    });

    test.each([
      [true, "delete"],
      [false, null],
    ] as const)("a delete that failed (may have happened: %s)", async (mayHaveHappened, intent) => {
      const at = await withGroups(makePlace);
      await leave(at, "absent", absent.at, "acme");
      await hold(at, [{ kind: "delete", user_group_id: "acme" }]);
      const gone = { ...atRest, absence: absent, held: "delete" };
      const change = aChangeFailure({ fingerprint: DELETED, count: 1, retryAt: LATER });
      await carryOut(at, aFailed({ change: aDelete(), mayHaveHappened }), LATER);
      expect(await groupOf(at)).toEqual({ ...gone, intent, failures: failures({ change }) });

      expect((await begin(at, aDelete()))[0]?.before).toMatchObject({ failures: { change: 1 }, intent });
      await record(at, aFailed({ change: aDelete(), mayHaveHappened }), LATER);
      expect(await groupOf(at)).toEqual({
        ...gone,
        intent,
        failures: failures({ change: { ...change, count: 2 } }),
      });
    });

    test("a group whose tenant is back is neither gone nor held, whatever became of the call", async () => {
      const at = await withGroups(makePlace);
      const outcomes = [
        anApplied({ kind: "updated" }),
        aNotUpdated(),
        aFailed(),
        anApplied({ kind: "replaced", change: aReplace() }),
      ];
      for (const outcome of outcomes) {
        await leave(at, "absent", absent.at, "acme");
        await hold(at, [{ kind: "delete", user_group_id: "acme" }]);
        await carryOut(at, outcome, LATER);
        expect(await groupOf(at)).toMatchObject({ absence: null, held: null });
      }
    });

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
        await write(at, (transaction) => transaction.record([{ outcome }], inDays(days)));
      }
      expect(await at.ledger.removalsSince(inDays(1))).toBe(2);
      expect(await at.ledger.removalsSince(inDays(1, 1))).toBe(1);
    });

    test("removals are kept for ninety days", async () => {
      const at = await withGroups(makePlace);
      await carryOut(at, aDeleted());
      await runAt(at, "sync", inDays(90));
      expect(await at.ledger.removalsSince(new Date(0))).toBe(1);
      await runAt(at, "sync", inDays(90, 1));
      expect(await at.ledger.removalsSince(new Date(0))).toBe(0);
    });

    test("forget takes only groups that were never made", async () => {
      const at = await withGroups(makePlace);
      await carryOut(at, aFailed({ change: anApply({ user_group_id: "never made" }) }), LATER);
      await begin(at, anApply({ user_group_id: "under way" }));
      await write(at, (transaction) => transaction.forget(["acme", "never made", "under way", "unknown"]));
      expect((await groupsOf(at)).map((group) => group.user_group_id)).toEqual(["acme", "under way"]);
      expect(await at.ledger.removalsSince(NOW)).toBe(0);
    });
  });
}
