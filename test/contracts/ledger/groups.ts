import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { BucketOptions } from "../../../src/ports/ledger/groups.ts";
import { anyId } from "../../builders/arbitraries.ts";
import {
  aChangeFailure,
  aDelete,
  aFailed,
  aGroup,
  aKnownGroup,
  aLedgerGroup,
  aNotUpdated,
  anApplied,
  anApply,
  aRow,
  failures,
} from "../../builders/groups.ts";
import { rounds } from "../../support/long.ts";
import { collect } from "../collect.ts";
import {
  begin,
  carryOut,
  groupOf,
  groupsOf,
  knownOf,
  LATER,
  type LedgerPlace,
  leave,
  type Opened,
  opened,
  record,
  write,
} from "./rig.ts";

const atRest = aLedgerGroup();
const change = anApply();
const { fingerprint } = change;
const FAILED_ONCE = aChangeFailure({ count: 1, retryAt: LATER });

const bind = (at: Opened, updates: boolean | null): Promise<void> =>
  write(at, (transaction) =>
    transaction.bindService({ baseUrl: "https://service.test", teamId: 7, updates, isProbed: false }),
  );

/** What becomes of groups that are created and updated. */
export function ledgerGroupsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the ledger's groups`, () => {
    test("are under way from begin on", async () => {
      const at = await opened(makePlace);
      expect(await begin(at, change)).toEqual([{ change, before: null }]);
      expect(await groupOf(at)).toEqual({ ...atRest, fingerprint: null, row: null, intent: "apply" });
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map());
    });

    test("begin answers in the order asked, with what was known", async () => {
      const at = await opened(makePlace);
      const [a, b] = [anApply({ user_group_id: "a" }), anApply({ user_group_id: "b", dataSourceId: "ds" })];
      await carryOut(at, anApplied({ kind: "updated", change: b, serviceName: "Bee", unverified: true }));
      await carryOut(at, aFailed({ change: b }), LATER);
      await begin(at, b);
      const changed = { ...b, fingerprint: "changed" };
      expect(await begin(at, changed, a)).toEqual([
        {
          change: changed,
          before: aKnownGroup({
            name: "Bee",
            fingerprint: b.fingerprint,
            unverified: "updated",
            dataSourceId: "ds",
            intent: "apply",
            intended: b.fingerprint,
            failures: { change: 1, rotation: 0, storing: 0 },
          }),
        },
        { change: a, before: null },
      ]);
    });

    test.each(["created", "adopted", "updated"] as const)("%s: at rest, as confirmed", async (kind) => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ kind, change }));
      expect(await groupOf(at)).toEqual(atRest);
      expect(await at.ledger.confirmed(["acme", "other"])).toEqual(new Map([["acme", change.group]]));
      expect(await knownOf(at, change)).toEqual(aKnownGroup());
    });

    test("an unverified update: until it is recorded otherwise, or the service is seen to update", async () => {
      const at = await opened(makePlace);
      const updated = (unverified: boolean) => anApplied({ kind: "updated", change, unverified });
      await carryOut(at, updated(true));
      expect(await groupOf(at)).toEqual({ ...atRest, isUpdateUnverified: true });
      await record(at, updated(false));
      expect(await groupOf(at)).toEqual(atRest);

      await record(at, updated(true));
      await bind(at, false);
      expect(await groupOf(at)).toEqual({ ...atRest, isUpdateUnverified: true });
      await bind(at, true);
      await bind(at, false);
      expect(await groupOf(at)).toEqual(atRest);
    });

    test("an adopted group is at rest, and stays unverified", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ kind: "adopted", change, unverified: true }));
      await bind(at, true);
      expect(await groupOf(at)).toEqual(atRest);
      expect(await knownOf(at, change)).toEqual(aKnownGroup({ unverified: "adopted" }));
    });

    test("not updated: a known group keeps what was confirmed", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ change }));
      const changed = anApply({
        group: aGroup({ name: "Acme 2" }),
        fingerprint: "changed",
        dataSourceId: "new",
      });
      await carryOut(at, aNotUpdated({ change: changed }), LATER);
      const failure = { code: "NOT_UPDATED", message: "it kept the old name" };
      expect(await groupOf(at)).toEqual({
        ...atRest,
        failures: failures({ change: { ...FAILED_ONCE, ...failure, fingerprint: "changed" } }),
      });
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map([["acme", change.group]]));
      expect(await knownOf(at, change)).toMatchObject({ dataSourceId: null });
    });

    test("not updated: an adopted group is owned from then on, in no state that was asked for", async () => {
      const at = await opened(makePlace);
      await carryOut(at, aNotUpdated({ change, serviceName: "Somebody's" }), LATER);
      const group = await groupOf(at);
      expect(group).toMatchObject({ intent: null, failures: { change: { code: "NOT_UPDATED" } } });
      expect(group?.fingerprint).not.toBeNull();
      expect(group?.fingerprint).not.toBe(fingerprint);
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map());
    });

    test("not updated: a group that is not as it was confirmed is in an unknown state", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ change }));
      await carryOut(at, aNotUpdated({ change, isUnknownState: true }), LATER);
      expect(await groupOf(at)).toMatchObject({
        fingerprint: UNKNOWN_STATE,
        row: atRest.row,
        intent: null,
        failures: { change: { code: "NOT_UPDATED" } },
      });
    });

    test.each([
      [true, "apply"],
      [false, null],
    ] as const)("failed (may have happened: %s)", async (mayHaveHappened, intent) => {
      const at = await opened(makePlace);
      await carryOut(at, aFailed({ change, mayHaveHappened }), LATER);
      const unmade = { ...atRest, fingerprint: null, row: null, intent };
      expect(await groupOf(at)).toEqual({ ...unmade, failures: failures({ change: FAILED_ONCE }) });

      expect((await begin(at, change))[0]?.before).toMatchObject({ failures: { change: 1 } });
      await record(at, aFailed({ change, mayHaveHappened }), LATER);
      expect(await groupOf(at)).toEqual({
        ...unmade,
        failures: failures({ change: { ...FAILED_ONCE, count: 2 } }),
      });

      await carryOut(at, anApplied({ change }));
      expect(await groupOf(at)).toEqual(atRest);
    });

    test("failed, and settled", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ change }));
      await carryOut(at, aFailed({ change: anApply({ fingerprint: "renamed" }) }), LATER);
      expect((await groupOf(at))?.failures.change?.count).toBe(1);
      const row = aRow({ bucket: 8, digest: "-9223372036854775808" });
      const settled = ["acme", "unknown"].map((user_group_id) => ({
        kind: "settled" as const,
        user_group_id,
        row,
        dataSourceId: "ds",
        wasGone: false,
      }));
      await write(at, (transaction) => transaction.markSettled(settled));
      expect(await groupsOf(at)).toEqual([{ ...atRest, row }]);
      expect(await knownOf(at, change)).toEqual(aKnownGroup({ dataSourceId: "ds" }));
      expect((await at.ledger.status()).groups).toMatchObject({ in_sync: 1, failing: 0 });
    });

    test("keep the data source of what was confirmed last, and until then of what was begun first", async () => {
      const at = await opened(makePlace);
      const of = (dataSourceId: string | null) => anApply({ dataSourceId });
      await begin(at, of("a"));
      await begin(at, of("b"));
      const first = await knownOf(at, change);
      await record(at, aFailed({ change: of("b") }), LATER);
      await begin(at, of("c"));
      const afterFailure = await knownOf(at, change);
      await record(at, anApplied({ change: of("c") }));
      await begin(at, of("d"));
      const begunAnew = await knownOf(at, change);
      await record(at, aFailed({ change: of("d") }), LATER);
      const failed = await knownOf(at, change);
      await carryOut(at, anApplied({ change: of(null) }));
      const confirmed = await knownOf(at, change);
      const known = [first, afterFailure, begunAnew, failed, confirmed];
      expect(known.map((before) => before?.dataSourceId)).toEqual(["a", "c", "c", "c", null]);
    });

    test("are summed up by bucket: those at rest, and how many are not", async () => {
      const at = await opened(makePlace);
      const of = (user_group_id: string, bucket: number) =>
        anApply({ user_group_id, row: aRow({ bucket, digest: "9223372036854775807" }) });
      for (const id of ["at rest", "at rest too"]) await carryOut(at, anApplied({ change: of(id, 7) }));
      await carryOut(at, anApplied({ change: of("gone", 7) }));
      await carryOut(at, anApplied({ change: of("unverified", 7), kind: "updated", unverified: true }));
      await carryOut(at, aFailed({ change: of("failed", 7) }), LATER);
      await carryOut(at, anApplied({ change: of("unknown", 7) }));
      await carryOut(at, aNotUpdated({ change: of("unknown", 7), isUnknownState: true }), LATER);
      await write(at, (to) => to.forgetFailedChanges(["unknown"]));
      await begin(at, of("under way", 7));
      await carryOut(at, anApplied({ change: of("alone", 8) }));
      await leave(at, "absent", { ms: 0, reads: 1 }, "gone");

      const bucketsIn = async (options: BucketOptions) =>
        (await at.ledger.buckets(options)).toSorted((one, other) => one.bucket - other.bucket);
      const alone = { bucket: 8, rows: 1, sum: "9223372036854775807", restless: 0 };
      expect(await bucketsIn({ unverifiedAtRest: true })).toEqual([
        { bucket: 7, rows: 3, sum: "27670116110564327421", restless: 4 },
        alone,
      ]);
      expect(await bucketsIn({ unverifiedAtRest: false })).toEqual([
        { bucket: 7, rows: 2, sum: "18446744073709551614", restless: 5 },
        alone,
      ]);
      const some = await collect(at.ledger.groups([8, 9]));
      expect(some.map((group) => group.user_group_id)).toEqual(["alone"]);
    });

    test("withdraw takes back a new intent, and leaves an earlier run's as it was", async () => {
      const at = await opened(makePlace);
      const [fresh, known, earlier] = [
        anApply({ user_group_id: "fresh" }),
        anApply({ user_group_id: "known" }),
        anApply({ user_group_id: "earlier" }),
      ];
      await carryOut(at, anApplied({ change: known }));
      await begin(at, earlier);
      const before = await groupsOf(at);

      const begun = await begin(at, fresh, known, { ...earlier, fingerprint: "another", underWay: true });
      await write(at, (transaction) => transaction.withdraw(begun));
      expect(await groupsOf(at)).toEqual(before);
    });

    test("remember what they were meant to be, until an intent for something else follows", async () => {
      const at = await opened(makePlace);
      await begin(at, change);
      const same = await begin(at, change);
      expect(same).toMatchObject([{ before: { intent: "apply", intended: change.fingerprint } }]);
      const another = { ...change, fingerprint: "another" };
      const differs = await begin(at, another);
      expect(differs).toMatchObject([{ before: { intended: change.fingerprint } }]);
      await write(at, (transaction) => transaction.withdraw(differs));
      expect(await begin(at, another)).toMatchObject([{ before: { intended: change.fingerprint } }]);
      // By now it may be either.
      expect(await begin(at, another)).toMatchObject([{ before: { intended: null } }]);
    });

    test("stay marked as removed until an outcome tells, whatever is begun after the removal", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ change }));
      await begin(at, aDelete());
      await begin(at, { ...change, kind: "update" });
      expect(await groupOf(at)).toMatchObject({ intent: "replace" });
      await carryOut(at, anApplied({ change }));
      expect(await groupOf(at)).toMatchObject({ intent: null });
    });

    test("come in the order of their ids' bytes, whatever the ids", async () => {
      const at = await opened(makePlace);
      const ids = fc.uniqueArray(anyId(), { minLength: 1, maxLength: 30 });
      const all = new Set<string>();
      await fc.assert(
        fc.asyncProperty(ids, async (some) => {
          for (const id of some) all.add(id);
          await begin(at, ...some.map((id) => anApply({ user_group_id: id, fingerprint: "f" })));
          await at.database.analyze();
          const groups = await groupsOf(at);
          expect(groups.map((group) => group.user_group_id)).toEqual([...all].sort(compareIds));
          const wanted = new Set(some);
          expect(await at.ledger.of(some)).toEqual(groups.filter((group) => wanted.has(group.user_group_id)));
        }),
        { numRuns: rounds(100) },
      );
    });

    test("are found by their ids, whatever is known of them, and unknown ids are left out", async () => {
      const at = await opened(makePlace);
      const of = (user_group_id: string) => anApply({ user_group_id });
      await carryOut(at, anApplied({ change: of("at rest") }));
      await carryOut(at, aFailed({ change: of("failed") }), LATER);
      await begin(at, of("under way"));
      await carryOut(at, anApplied({ change: of("gone") }));
      await leave(at, "flagged", { ms: 5, reads: 1 }, "gone");
      const all = await groupsOf(at);
      expect(all).toHaveLength(4);
      const unknown = ["AT REST", "gone ", "", "a\0", "\ud800"];
      expect(await at.ledger.of([...unknown, "under way", "gone", "failed", "at rest", "gone"])).toEqual(all);
      expect(await at.ledger.of(["gone", ...unknown])).toEqual(
        all.filter((group) => group.user_group_id === "gone"),
      );
      expect(await at.ledger.of(unknown)).toEqual([]);
      expect(await at.ledger.of([])).toEqual([]);
    });
  });
}
