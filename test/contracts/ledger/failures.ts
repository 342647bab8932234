import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import type { GroupFailures } from "../../../src/core/failure/group-failures.ts";
import type { Change } from "../../../src/core/plan/change.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import {
  aDelete,
  aDeleted,
  aFailed,
  aNotUpdated,
  anApplied,
  anApply,
  aReplace,
  aRotation,
  aRow,
  failures,
} from "../../builders/groups.ts";
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
  recordAt,
  write,
} from "./rig.ts";

const update = anApply({ kind: "update", fingerprint: "new" });
const REFUSED = { code: "REFUSED", message: "GET was answered HTTP 422" };
const NOT_ROTATED = { code: "SERVICE_ERROR", message: "POST was answered HTTP 500" };
const NOT_STORED = { code: "TOKEN_NOT_EVERYWHERE", message: "one store has it" };
/** Each kind is tried again at a time of its own. */
const AGAIN = { change: inDays(7), rotation: inDays(8), storing: inDays(9) };

/** What makes each kind of failure, the `count`th time. */
const fails: Readonly<Record<keyof GroupFailures, (at: Opened, count: number) => Promise<void>>> = {
  change: (at, count) => recordAt(at, inDays(count), aFailed({ change: update }), AGAIN.change),
  rotation: (at, count) =>
    write(at, async (to) => {
      await to.beginRotation("acme", inDays(count));
      const failure = { ...NOT_ROTATED, retryAt: AGAIN.rotation };
      await to.recordRotation(aRotation({ tokenFingerprint: null, failure }), inDays(count));
    }),
  storing: (at, count) =>
    write(at, (to) => {
      const failure = { ...NOT_STORED, count, retryAt: AGAIN.storing };
      return to.recordStored([{ user_group_id: "acme", failure }], inDays(count));
    }),
};

const ONCE: GroupFailures = {
  change: { ...REFUSED, fingerprint: "new", count: 1, retryAt: AGAIN.change },
  rotation: { ...NOT_ROTATED, count: 1, retryAt: AGAIN.rotation },
  storing: { ...NOT_STORED, count: 1, retryAt: AGAIN.storing },
};

/** Something that happens to a group on a day. */
type Doing = (at: Opened, day: number) => Promise<unknown>;

/** What is failing of a group (its change, its rotation, and storing its token), and since when changes wait. */
export function ledgerFailuresContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  const withGroup = async (...kinds: (keyof GroupFailures)[]): Promise<Opened> => {
    const at = await opened(makePlace);
    await recordAt(at, inDays(0), anApplied());
    for (const kind of kinds) await fails[kind](at, 1);
    return at;
  };
  const all = () => withGroup("change", "rotation", "storing");
  const failuresOf = async (at: Opened) => (await groupOf(at))?.failures;

  describe(`${name}: the failures of a group`, () => {
    test.each([
      ["change", "rotation", "storing"],
      ["rotation", "storing", "change"],
      ["storing", "change", "rotation"],
    ] as const)("stand beside each other, whichever comes first: %s", async (...kinds) => {
      const at = await withGroup(...kinds);
      expect(await failuresOf(at)).toEqual(ONCE);
      const [begun] = await begin(at, update);
      expect(begun?.before?.failures).toEqual({ change: 1, rotation: 1, storing: 1 });
    });

    test.each(["change", "rotation", "storing"] as const)("are counted by themselves: %s", async (kind) => {
      const at = await all();
      await fails[kind](at, 2);
      expect(await failuresOf(at)).toEqual({ ...ONCE, [kind]: { ...ONCE[kind], count: 2 } });
      const known = await write(at, (to) => to.beginRotation("acme", NOW));
      expect(known?.failures).toEqual({ change: 1, rotation: 1, storing: 1, [kind]: 2 });
    });

    test("of a change don't keep a rotation from waiting for its next try", async () => {
      const at = await withGroup("change", "rotation");
      const [candidate] = await at.ledger.rotatable({ until: LATER, limit: 1 });
      expect(candidate?.failure).toEqual(ONCE.rotation);
    });

    test.each<[string, Outcome]>([
      ["an update", anApplied({ kind: "updated", change: update })],
      ["a creation", anApplied({ change: update })],
      ["a replacement", anApplied({ kind: "replaced", change: aReplace() })],
    ])("of the change and of storing end with a change that is done: %s", async (_, outcome) => {
      const at = await all();
      await recordAt(at, inDays(2), outcome);
      expect(await failuresOf(at)).toEqual(failures({ rotation: ONCE.rotation }));
    });

    test("of the change alone ends if the row asks for what the group is", async () => {
      const at = await all();
      const settled = { user_group_id: "acme", row: aRow(), dataSourceId: null, wasGone: false };
      await write(at, (to) => to.markSettled([{ kind: "settled", ...settled }]));
      expect(await failuresOf(at)).toEqual({ ...ONCE, change: null });
    });

    test("a failed change is forgotten by itself, and nothing else is", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ change: anApply() }));
      const atRest = await groupOf(at);
      for (const kind of ["change", "rotation", "storing"] as const) await fails[kind](at, 1);
      await write(at, (to) => to.forgetFailedChanges(["acme", "unknown"]));
      expect(await groupOf(at)).toEqual({ ...atRest, failures: { ...ONCE, change: null } });
    });

    const token = new Secret("ugt_acme_2");
    test.each<[string, (at: Opened) => Promise<void>]>([
      ["a rotation", (at) => write(at, (to) => to.recordRotation(aRotation(), LATER))],
      ["an update", (at) => recordAt(at, inDays(2), anApplied({ kind: "updated", change: update, token }))],
      ["a refused update", (at) => recordAt(at, inDays(2), aNotUpdated({ change: update, token }))],
      [
        "a GET for the token alone",
        (at) =>
          recordAt(
            at,
            inDays(2),
            anApplied({ kind: "updated", change: { ...update, restores: true }, token }),
          ),
      ],
    ])("of rotation and storing end with another token: %s", async (_, arrives) => {
      const at = await withGroup("rotation", "storing");
      await arrives(at);
      expect(await failuresOf(at)).toMatchObject({ rotation: null, storing: null });
    });

    test("of a rotation stays if the old token is found to be the live one", async () => {
      const at = await all();
      const [vouched] = await at.ledger.vouchedTokens({ limit: 1, of: "all" });
      const found = aRotation({ tokenFingerprint: vouched?.tokenFingerprint ?? null });
      await write(at, (to) => to.recordRotation(found, LATER));
      expect(await failuresOf(at)).toEqual({ ...ONCE, storing: null });
    });

    test("of a rotation begins anew with the first token", async () => {
      const at = await opened(makePlace);
      await begin(at, anApply());
      await fails.rotation(at, 1);
      expect(await at.ledger.tokensLiveSince(inDays(9))).toBe(0);
      await recordAt(at, inDays(2), anApplied());
      expect(await failuresOf(at)).toEqual(failures());
    });

    test("end with the group, but for that its token is not removed", async () => {
      const at = await all();
      const change = aDelete();
      await begin(at, change);
      const left = { outcome: aDeleted({ change }), notRemoved: NOT_STORED, retryAt: LATER };
      await write(at, (to) => to.record([left], inDays(2)));
      expect(await failuresOf(at)).toMatchObject({
        change: { ...NOT_STORED, count: 2 },
        rotation: null,
        storing: null,
      });
      await carryOut(at, aDeleted());
      await carryOut(at, anApplied());
      expect(await failuresOf(at)).toEqual(failures());
    });

    test("are told of together, as one group that is failing since the first of them", async () => {
      const at = await withGroup("rotation");
      await fails.change(at, 2);
      await fails.change(at, 3);
      await fails.storing(at, 4);
      expect(await at.ledger.status()).toMatchObject({
        groups: { total: 1, in_sync: 0, failing: 1 },
        failing: [
          {
            user_group_id: "acme",
            code: REFUSED.code,
            message: [REFUSED, NOT_ROTATED, NOT_STORED].map(({ message }) => message).join("; "),
            count: 4,
            retryAt: AGAIN.change,
            since: inDays(1),
          },
        ],
        oldestUnsynced: inDays(1),
      });
      await recordAt(at, inDays(5), anApplied({ kind: "updated", change: update }));
      expect((await at.ledger.status()).failing).toEqual([
        { user_group_id: "acme", ...ONCE.rotation, since: inDays(1) },
      ]);
    });

    test("of a rotation are of no concern to a plan", async () => {
      const at = await withGroup();
      const sums = () => at.ledger.buckets({ unverifiedAtRest: true });
      const before = await sums();
      await fails.rotation(at, 1);
      await write(at, (to) => to.withdrawRotation("acme"));
      expect(await sums()).toEqual(before);
    });

    test.each(["change", "storing"] as const)("of a %s are looked at by a plan", async (kind) => {
      const at = await withGroup();
      await fails[kind](at, 1);
      expect(await at.ledger.buckets({ unverifiedAtRest: true })).toMatchObject([{ rows: 0, restless: 1 }]);
    });
  });

  describe(`${name}: a group that is failing`, () => {
    const ends: readonly [what: string, kind: "change" | "rotation", end: (at: Opened) => Promise<void>][] = [
      ["a rotation", "rotation", (at) => write(at, (to) => to.recordRotation(aRotation(), inDays(2)))],
      [
        "an update",
        "change",
        (at) => recordAt(at, inDays(2), anApplied({ kind: "updated", change: update })),
      ],
      [
        "a row as the group is",
        "change",
        (at) =>
          write(at, (to) =>
            to.markSettled([
              { kind: "settled", user_group_id: "acme", row: aRow(), dataSourceId: null, wasGone: false },
            ]),
          ),
      ],
    ];
    test.each(ends)("counts anew after %s", async (_, kind, end) => {
      const at = await withGroup(kind);
      await end(at);
      expect(await at.ledger.status()).toMatchObject({ failing: [], oldestUnsynced: null });
      await fails[kind](at, 3);
      expect((await at.ledger.status()).failing).toMatchObject([{ since: inDays(3), count: 1 }]);
    });

    test.each<[string, Outcome]>([
      ["an update that did not take", aNotUpdated({ change: update })],
      ["a deletion", aFailed({ change: aDelete() })],
    ])("says since when, also when it has failed again: %s", async (_, outcome) => {
      const at = await withGroup();
      for (const count of [1, 2]) {
        await recordAt(at, inDays(count), outcome);
        expect((await at.ledger.status()).failing).toMatchObject([{ since: inDays(1), count }]);
      }
    });

    test("is told before those that fail for a shorter time", async () => {
      const at = await opened(makePlace);
      for (const [user_group_id, day] of [
        ["often", 2],
        ["often", 3],
        ["long", 1],
        ["too", 2],
      ] as const)
        await recordAt(at, inDays(day), aFailed({ change: anApply({ user_group_id }) }));
      const { failing } = await at.ledger.status();
      expect(failing.map(({ user_group_id }) => user_group_id)).toEqual(["long", "often", "too"]);
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
        await recordAt(at, NOW, anApplied({ change, unverified: id === "unverified" }));
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
  });
}
