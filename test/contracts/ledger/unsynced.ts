import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import type { Change } from "../../../src/core/plan/change.ts";
import { aDelete, aFailed, aNotUpdated, anApplied, anApply, aRotation, aRow } from "../../builders/groups.ts";
import { hold, inDays, LATER, type LedgerPlace, leave, type Opened, opened, write } from "./rig.ts";

const update = anApply({ kind: "update" });
const refusal = { code: "REFUSED", message: "POST was answered HTTP 422", retryAt: LATER };
const aFailedRotation = aRotation({ tokenFingerprint: null, failure: refusal });

/** Something that happens to a group on a day. */
type Doing = (at: Opened, day: number) => Promise<unknown>;

const fails: Readonly<Record<string, Doing>> = {
  "an update": (at, day) => recordOn(at, day, aFailed({ change: update })),
  "an update that did not take": (at, day) => recordOn(at, day, aNotUpdated({ change: update })),
  "a deletion": (at, day) => recordOn(at, day, aFailed({ change: aDelete() })),
  "a rotation": (at, day) => write(at, (to) => to.recordRotation(aFailedRotation, inDays(day))),
};
const goesWell: Readonly<Record<string, Doing>> = {
  "a rotation": (at, day) => write(at, (to) => to.recordRotation(aRotation(), inDays(day))),
  "an update": (at, day) => recordOn(at, day, anApplied({ kind: "updated", change: update })),
  "a row as the group is": (at) =>
    write(at, (to) =>
      to.markSettled([
        { kind: "settled", user_group_id: "acme", row: aRow(), dataSourceId: null, wasGone: false },
      ]),
    ),
};

/** Since when changes wait: that fail, or are under way. */
export function ledgerUnsyncedContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  /** A ledger in which this group was created on day 0. */
  const withGroup = async (): Promise<Opened> => {
    const at = await opened(makePlace);
    await recordOn(at, 0, anApplied());
    return at;
  };

  describe(`${name}: a group that is failing`, () => {
    test.each(Object.entries(fails))(
      "says since when, also when it has failed again: %s",
      async (_, fail) => {
        const at = await withGroup();
        await fail(at, 1);
        expect(await failingIn(at)).toEqual([["acme", inDays(1), 1]]);
        await fail(at, 2);
        expect(await failingIn(at)).toEqual([["acme", inDays(1), 2]]);
      },
    );

    test.each([
      ["a rotation", "a rotation"],
      ["an update", "an update"],
      ["an update", "a row as the group is"],
    ])("with %s counts anew after %s", async (what, well) => {
      const at = await withGroup();
      await fails[what]?.(at, 1);
      await goesWell[well]?.(at, 2);
      expect(await failingIn(at)).toEqual([]);
      expect((await at.ledger.status()).oldestUnsynced).toBeNull();
      await fails[what]?.(at, 3);
      expect(await failingIn(at)).toEqual([["acme", inDays(3), 1]]);
    });

    test("still fails when a rotation has come to its end, well or not", async () => {
      const at = await withGroup();
      await fails["an update"]?.(at, 1);
      await goesWell["a rotation"]?.(at, 2);
      await fails["a rotation"]?.(at, 3);
      expect(await failingIn(at)).toEqual([["acme", inDays(1), 1]]);
    });

    test("is told before those that fail for a shorter time", async () => {
      const at = await opened(makePlace);
      for (const [id, day] of [
        ["often", 2],
        ["often", 3],
        ["long", 1],
        ["too", 2],
      ] as const) {
        await recordOn(at, day, aFailed({ change: anApply({ user_group_id: id }) }));
      }
      expect((await failingIn(at)).map(([id]) => id)).toEqual(["long", "often", "too"]);
    });
  });

  describe(`${name}: the oldest change that waits`, () => {
    const oldest = async ({ ledger }: Opened): Promise<Date | null> => (await ledger.status()).oldestUnsynced;
    const beginOn = (at: Opened, day: number, change: Change) =>
      write(at, (to) => to.begin([change], inDays(day)));

    test("is none where the groups are at rest, gone or held", async () => {
      const at = await opened(makePlace);
      expect(await oldest(at)).toBeNull();
      for (const id of ["at rest", "gone", "unverified"]) {
        const change = anApply({ user_group_id: id });
        await recordOn(at, 0, anApplied({ change, unverified: id === "unverified" }));
      }
      await leave(at, "absent", { ms: 0, reads: 1 }, "gone");
      await hold(at, [{ kind: "delete", user_group_id: "gone" }]);
      expect(await oldest(at)).toBeNull();
    });

    test.each<[string, Doing, Doing]>([
      [
        "an update",
        (at, day) => beginOn(at, day, update),
        (at, day) => write(at, (to) => to.record([{ outcome: anApplied({ change: update }) }], inDays(day))),
      ],
      [
        "a deletion that is taken back",
        (at, day) => beginOn(at, day, aDelete()),
        (at, day) =>
          write(at, async (to) => {
            const begun = await to.begin([aDelete()], inDays(day));
            await to.withdraw(
              begun.map((one) => ({ ...one, before: one.before && { ...one.before, intent: null } })),
            );
          }),
      ],
      [
        "a rotation",
        (at, day) => write(at, (to) => to.beginRotation("acme", inDays(day))),
        (at, day) => write(at, (to) => to.recordRotation(aRotation(), inDays(day))),
      ],
      [
        "a rotation that is taken back",
        (at, day) => write(at, (to) => to.beginRotation("acme", inDays(day))),
        (at) => write(at, (to) => to.withdrawRotation("acme")),
      ],
    ])("is that which was begun first, and is begun once more: %s", async (_, begin, end) => {
      const at = await withGroup();
      await begin(at, 1);
      await begin(at, 2);
      await beginOn(at, 3, anApply({ user_group_id: "b" }));
      expect(await oldest(at)).toEqual(inDays(1));
      await end(at, 4);
      expect(await oldest(at)).toEqual(inDays(3));
    });

    test("is that which may have happened, or fails for longer", async () => {
      const at = await withGroup();
      await beginOn(at, 1, update);
      const failed = aFailed({ change: update, mayHaveHappened: true });
      await write(at, (to) => to.record([{ outcome: failed, retryAt: LATER }], inDays(2)));
      expect(await oldest(at)).toEqual(inDays(1));
      await write(at, (to) =>
        to.record([{ outcome: aFailed({ change: update }), retryAt: LATER }], inDays(3)),
      );
      expect(await oldest(at)).toEqual(inDays(2));
      await beginOn(at, 4, update);
      expect(await oldest(at)).toEqual(inDays(2));
    });

    test("is that of one scope", async () => {
      const at = await withGroup();
      await fails["an update"]?.(at, 1);
      expect((await at.database.view("another").status()).oldestUnsynced).toBeNull();
    });
  });
}

/** The intent and the outcome. */
const recordOn = (at: Opened, day: number, outcome: Outcome): Promise<void> =>
  write(at, async (to) => {
    await to.begin([outcome.change], inDays(day));
    await to.record([{ outcome, retryAt: LATER }], inDays(day));
  });

const failingIn = async ({
  ledger,
}: Opened): Promise<(readonly [id: string, since: Date, count: number])[]> =>
  (await ledger.status()).failing.map(({ user_group_id, since, count }) => [user_group_id, since, count]);
