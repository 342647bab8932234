import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { RotationCandidate } from "../../../src/core/rotation/rotation-policy.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { ExistingOptions, KnownToken, RotationResult } from "../../../src/ports/ledger/groups.ts";
import { anyId } from "../../builders/arbitraries.ts";
import {
  aDelete,
  aDeleted,
  aFailed,
  aKnownGroup,
  aLedgerGroup,
  aNotUpdated,
  anApplied,
  anApply,
  aReplace,
  aRotation,
  failures,
} from "../../builders/groups.ts";
import { rounds } from "../../support/long.ts";
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
  type Opened,
  opened,
  recordAt,
  runAt,
  withGroups,
  write,
} from "./rig.ts";

const FOREVER = inDays(10_000);
const FIRST = tokenFingerprint(new Secret("ugt_acme"));
const SECOND = tokenFingerprint(new Secret("ugt_acme_2"));
const atRest = aLedgerGroup();
const NONE = { change: 0, rotation: 0, storing: 0 };
const refusal = { code: "REFUSED", message: "POST was answered HTTP 422", retryAt: LATER };
const aFailedRotation = (overrides: Partial<RotationResult> = {}): RotationResult =>
  aRotation({ tokenFingerprint: null, failure: refusal, ...overrides });

/** Which token is live since when, and what becomes of rotations. */
export function ledgerRotationsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: a live token`, () => {
    const update = anApply({ kind: "update" });
    /** All the ways on which the token of a known group arrives. */
    const arrivals: [string, (at: Opened, token: Secret) => Promise<void>][] = [
      ["updated", (at, token) => recordAt(at, LATER, anApplied({ kind: "updated", change: update, token }))],
      ["not updated", (at, token) => recordAt(at, LATER, aNotUpdated({ change: update, token }))],
      [
        "replaced",
        (at, token) => recordAt(at, LATER, anApplied({ kind: "replaced", change: aReplace(), token })),
      ],
      ["rotated", (at, token) => rotate(at, aRotation({ tokenFingerprint: tokenFingerprint(token) }), LATER)],
      [
        "not rotated",
        (at, token) => rotate(at, aFailedRotation({ tokenFingerprint: tokenFingerprint(token) }), LATER),
      ],
    ];

    test.each(["created", "adopted"] as const)("is known since the group was %s", async (kind) => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ kind }));
      expect(await tokensIn(at)).toEqual([["acme", NOW]]);
      expect(await at.database.formerTokens()).toEqual([]);
    });

    test("is known since a group was adopted that could not be updated", async () => {
      const at = await opened(makePlace);
      await carryOut(at, aNotUpdated());
      expect(await tokensIn(at)).toEqual([["acme", NOW]]);
    });

    test.each(arrivals)(
      "that is another counts anew, and the former one is remembered: %s",
      async (_, arrive) => {
        const at = await withGroups(makePlace, ["acme", "b"]);
        await arrive(at, new Secret("ugt_acme_2"));
        expect(await tokensIn(at)).toEqual([
          ["b", NOW],
          ["acme", LATER],
        ]);
        expect((await knownOf(at, update))?.tokenFingerprint).toBe(SECOND);
        expect(await at.database.formerTokens()).toEqual([
          { user_group_id: "acme", fingerprint: FIRST, since: NOW, until: LATER },
        ]);
      },
    );

    test.each(arrivals)("that is the same as before goes on: %s", async (_, arrive) => {
      const at = await withGroups(makePlace);
      await arrive(at, new Secret("ugt_acme"));
      expect(await tokensIn(at)).toEqual([["acme", NOW]]);
      expect(await at.database.formerTokens()).toEqual([]);
    });

    test.each<[string, (at: Opened) => Promise<void>]>([
      ["an update", (at) => recordAt(at, LATER, aFailed({ change: update }))],
      ["a deletion", (at) => recordAt(at, LATER, aFailed({ change: aDelete() }))],
      ["a rotation", (at) => rotate(at, aFailedRotation(), LATER)],
    ])("goes on where %s failed and nobody knows of another one", async (_, fail) => {
      const at = await withGroups(makePlace);
      await fail(at);
      expect(await tokensIn(at)).toEqual([["acme", NOW]]);
      expect((await knownOf(at, update))?.tokenFingerprint).toBe(FIRST);
      expect(await at.database.formerTokens()).toEqual([]);
    });

    test("is none as long as the group was never made", async () => {
      const at = await opened(makePlace);
      await carryOut(at, aFailed(), LATER);
      expect(await tokensIn(at)).toEqual([]);
      await recordAt(at, LATER, anApplied());
      expect(await tokensIn(at)).toEqual([["acme", LATER]]);
    });

    test("has ended with its group, and is remembered", async () => {
      const at = await withGroups(makePlace, ["acme", "b"]);
      await recordAt(at, LATER, aDeleted());
      expect(await tokensIn(at)).toEqual([["b", NOW]]);
      expect(await at.database.formerTokens()).toEqual([
        { user_group_id: "acme", fingerprint: FIRST, since: NOW, until: LATER },
      ]);
    });

    test("has a history without a gap, for a group that comes again too", async () => {
      const at = await withGroups(makePlace);
      await rotate(at, aRotation(), inDays(1));
      await rotate(at, aRotation({ tokenFingerprint: "third" }), inDays(2));
      await recordAt(at, inDays(3), aDeleted());
      await recordAt(at, inDays(4), anApplied());
      const former = await at.database.formerTokens();
      expect(former.map(({ fingerprint, since, until }) => [fingerprint, since, until])).toEqual([
        [FIRST, NOW, inDays(1)],
        [SECOND, inDays(1), inDays(2)],
        ["third", inDays(2), inDays(3)],
      ]);
      expect(await tokensIn(at)).toEqual([["acme", inDays(4)]]);
    });

    test("is remembered for a year after its end", async () => {
      const at = await withGroups(makePlace);
      await recordAt(at, NOW, aDeleted());
      await runAt(at, "sync", inDays(365));
      expect(await at.database.formerTokens()).toHaveLength(1);
      await runAt(at, "sync", inDays(365, 1));
      expect(await at.database.formerTokens()).toEqual([]);
    });

    test("that is the oldest is told by the status, whatever is the matter with its group", async () => {
      const at = await opened(makePlace);
      expect((await at.ledger.status()).oldestToken).toBeNull();
      await begin(at, anApply({ user_group_id: "under way" }));
      expect((await at.ledger.status()).oldestToken).toBeNull();
      await create(at, ["newest"], inDays(2));
      await create(at, ["oldest"]);
      await create(at, ["newer"], inDays(1));
      await leave(at, "absent", { ms: 0, reads: 1 }, "oldest");
      expect((await at.ledger.status()).oldestToken).toEqual(NOW);
    });
  });

  describe(`${name}: a rotation`, () => {
    test("is under way from its begin on, with what was known", async () => {
      const at = await withGroups(makePlace, ["acme", "b"]);
      expect(await beginRotation(at)).toEqual({ tokenFingerprint: FIRST, intent: null, failures: NONE });
      expect(await groupsOf(at)).toEqual([
        { ...atRest, intent: "rotate" },
        aLedgerGroup({ user_group_id: "b" }),
      ]);
      expect(await beginRotation(at)).toMatchObject({ tokenFingerprint: FIRST, intent: "rotate" });
    });

    test("of a group that nobody knows is none", async () => {
      const at = await withGroups(makePlace);
      expect(await beginRotation(at, "unknown")).toBeUndefined();
      await write(at, (transaction) => transaction.withdrawRotation("unknown"));
      await rotate(at, aRotation({ user_group_id: "unknown" }));
      expect(await groupsOf(at)).toEqual([atRest]);
      expect(await at.database.formerTokens()).toEqual([]);
    });

    test("that is withdrawn leaves the group as it was", async () => {
      const at = await withGroups(makePlace, ["acme", "b"]);
      await beginRotation(at, "b");
      const before = await groupsOf(at);
      await beginRotation(at);
      await write(at, (transaction) => transaction.withdrawRotation("acme"));
      expect(await groupsOf(at)).toEqual(before);
    });

    test.each([
      ["apply", anApply({ kind: "update" })],
      ["replace", aReplace()],
      ["delete", aDelete()],
    ] as const)("leaves another change that is under way as it is: %s", async (intent, change) => {
      const at = await withGroups(makePlace);
      await begin(at, change);
      expect(await beginRotation(at)).toMatchObject({ intent });
      await write(at, (transaction) => transaction.withdrawRotation("acme"));
      expect(await groupOf(at)).toEqual({ ...atRest, intent });
    });

    test("that is done leaves the group at rest, with its new token", async () => {
      const at = await withGroups(makePlace);
      await beginRotation(at);
      await rotate(at, aRotation());
      expect(await groupOf(at)).toEqual(atRest);
      expect(await knownOf(at, anApply())).toEqual(aKnownGroup({ tokenFingerprint: SECOND }));
    });

    test.each([
      [true, "rotate"],
      [false, null],
    ] as const)("that failed is counted until one is done (still open: %s)", async (isOpen, intent) => {
      const at = await withGroups(makePlace);
      for (const count of [1, 2]) {
        expect(await beginRotation(at)).toMatchObject({ failures: { rotation: count - 1 } });
        await rotate(at, aFailedRotation({ isOpen }));
        expect(await groupOf(at)).toEqual({
          ...atRest,
          intent,
          failures: failures({ rotation: { ...refusal, count } }),
        });
      }
      await beginRotation(at);
      await rotate(at, aRotation());
      expect(await groupOf(at)).toEqual(atRest);
    });

    test.each([
      ["that failed", aFailedRotation({ isOpen: true })],
      ["that is done", aRotation({ isOpen: true })],
    ])("%s leaves an update under way that it can't settle", async (_, result) => {
      const at = await withGroups(makePlace);
      await begin(at, anApply({ kind: "update" }));
      await beginRotation(at);
      await rotate(at, result);
      expect(await groupOf(at)).toMatchObject({ intent: "apply" });
      await rotate(at, aRotation());
      expect(await groupOf(at)).toEqual(atRest);
    });
  });

  describe(`${name}: groups that are there, or may be`, () => {
    const existing = (at: Opened, options: Partial<ExistingOptions> = {}): Promise<readonly string[]> =>
      at.ledger.existing({ limit: 100, ...options });

    /** In every state that there is. */
    const inAllStates = async (): Promise<Opened> => {
      const at = await withGroups(makePlace, [
        "deleting",
        "failing",
        "gone",
        "held",
        "resting",
        "rotating",
        "updating",
      ]);
      await begin(
        at,
        aDelete({ user_group_id: "deleting" }),
        anApply({ kind: "update", user_group_id: "updating" }),
      );
      await carryOut(at, aFailed({ change: anApply({ kind: "update", user_group_id: "failing" }) }), LATER);
      await leave(at, "absent", { ms: 0, reads: 1 }, "gone");
      await hold(at, [{ kind: "replace", user_group_id: "held" }]);
      await beginRotation(at, "rotating");
      await carryOut(at, aNotUpdated({ change: anApply({ user_group_id: "adopted" }) }), LATER);
      await carryOut(at, aFailed({ change: anApply({ user_group_id: "refused" }) }), LATER);
      await begin(at, anApply({ user_group_id: "unborn" }));
      await create(at, ["deleted"]);
      const outcome = { kind: "deleted", change: aDelete({ user_group_id: "deleted" }) } as const;
      await begin(at, outcome.change);
      const notRemoved = { code: "TOKEN_NOT_REMOVED", message: "still needed" };
      await write(at, (to) => to.record([{ outcome, notRemoved, retryAt: LATER }], NOW));
      return at;
    };
    const ALL = [
      "adopted",
      "deleting",
      "failing",
      "gone",
      "held",
      "resting",
      "rotating",
      "unborn",
      "updating",
    ];

    test("are all that were made and not deleted, or are under way, whatever is the matter with them", async () => {
      const at = await inAllStates();
      expect(await existing(at)).toEqual(ALL);
      expect(await at.ledger.existingCount({})).toBe(ALL.length);
    });

    test("are told apart by what is under way", async () => {
      const at = await inAllStates();
      expect(await existing(at, { underWay: "anything" })).toEqual([
        "deleting",
        "rotating",
        "unborn",
        "updating",
      ]);
      expect(await existing(at, { underWay: "a removal" })).toEqual(["deleting"]);
      expect(await at.ledger.existingCount({ underWay: "a removal" })).toBe(1);
      expect(await at.ledger.existingCount({ underWay: "anything" })).toBe(4);
    });

    test("are looked for by their ids, byte by byte", async () => {
      const at = await inAllStates();
      const of = ["updating", "Gone", "gone", "gone ", "refused", "unknown", "adopted"];
      expect(await existing(at, { of })).toEqual(["adopted", "gone", "updating"]);
      expect(await existing(at, { of, underWay: "anything" })).toEqual(["updating"]);
      expect(await existing(at, { of: [] })).toEqual([]);
      expect(await at.ledger.existingCount({ of })).toBe(3);
    });

    test("have tokens of an age, or are as old as their intent", async () => {
      const at = await withGroups(makePlace, ["old"]);
      await create(at, ["new"], LATER);
      await begin(at, anApply({ user_group_id: "unborn" }));
      const justBefore = new Date(LATER.getTime() - 1);
      expect(await existing(at, { liveSince: new Date(NOW.getTime() - 1) })).toEqual([]);
      expect(await existing(at, { liveSince: justBefore })).toEqual(["old", "unborn"]);
      expect(await existing(at, { liveSince: justBefore, of: ["old", "new"] })).toEqual(["old"]);
      expect(await existing(at, { liveSince: LATER })).toEqual(["new", "old", "unborn"]);
      expect(await at.ledger.existingCount({ liveSince: justBefore })).toBe(2);
    });

    test("come in the order of their ids, on pages of any size, whatever is rotated meanwhile", async () => {
      const at = await opened(makePlace);
      const all = new Set<string>();
      const some = fc.uniqueArray(anyId(), { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(some, fc.integer({ min: 1, max: 5 }), async (ids, limit) => {
          for (const id of ids.filter((id) => !all.has(id))) {
            await create(at, [id]);
            all.add(id);
          }
          const pages: (readonly string[])[] = [];
          do {
            pages.push(await existing(at, { limit, after: pages.at(-1)?.at(-1) }));
            for (const user_group_id of pages.at(-1) ?? []) {
              await beginRotation(at, user_group_id);
              const tokenFingerprint = `${pages.length} ${user_group_id}`;
              await rotate(at, aRotation({ user_group_id, tokenFingerprint }), LATER);
            }
          } while (pages.at(-1)?.length === limit);
          expect(pages.flat()).toEqual([...all].sort(compareIds));
        }),
        { numRuns: rounds(40) },
      );
    });
  });

  describe(`${name}: groups that can be rotated`, () => {
    test("are those whose tokens are live since then or longer", async () => {
      const at = await withGroups(makePlace, ["old"]);
      await create(at, ["new"], LATER);
      const justBefore = (time: Date) => new Date(time.getTime() - 1);
      expect(await tokensIn(at, justBefore(NOW))).toEqual([]);
      expect(await tokensIn(at, justBefore(LATER))).toEqual([["old", NOW]]);
      expect(await tokensIn(at, LATER)).toEqual([
        ["old", NOW],
        ["new", LATER],
      ]);
    });

    test("are confirmed, with a tenant that is there, and nothing else is under way", async () => {
      const at = await withGroups(makePlace, [
        "absent",
        "at rest",
        "failing",
        "held",
        "open",
        "rotating",
        "unsettled",
      ]);
      await begin(at, anApply({ user_group_id: "unborn" }), aDelete({ user_group_id: "unsettled" }));
      await leave(at, "absent", { ms: 0, reads: 1 }, "absent");
      await hold(at, [{ kind: "replace", user_group_id: "held" }]);
      await carryOut(at, aFailed({ change: anApply({ kind: "update", user_group_id: "failing" }) }), LATER);
      await beginRotation(at, "rotating");
      await rotate(at, aFailedRotation({ user_group_id: "open", isOpen: true }));
      const candidates = await at.ledger.rotatable({ until: FOREVER, limit: 10 });
      expect(candidates.map(({ user_group_id }) => user_group_id)).toEqual([
        "at rest",
        "failing",
        "held",
        "open",
        "rotating",
      ]);
      expect(await at.ledger.rotatableCount(FOREVER)).toBe(5);
    });

    test("tell why their last rotation failed, and of no other failure", async () => {
      const at = await withGroups(makePlace, ["a", "b", "c"]);
      await carryOut(at, aFailed({ change: anApply({ kind: "update", user_group_id: "a" }) }), LATER);
      await rotate(at, aFailedRotation({ user_group_id: "b" }));
      const candidates = await at.ledger.rotatable({ until: FOREVER, limit: 10 });
      expect(candidates.map(({ failure }) => failure)).toEqual([null, { ...refusal, count: 1 }, null]);
    });

    test("come the oldest first, on pages of any size, whatever the ids", async () => {
      const at = await opened(makePlace);
      const tokens = fc.uniqueArray(fc.record({ id: anyId(), day: fc.integer({ min: 0, max: 2 }) }), {
        selector: ({ id }) => id,
        minLength: 1,
        maxLength: 12,
      });
      const all = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(tokens, fc.integer({ min: 1, max: 5 }), async (some, limit) => {
          for (const { id, day } of some.filter(({ id }) => !all.has(id))) {
            await create(at, [id], inDays(day));
            all.set(id, day);
          }
          await at.database.analyze();
          const pages: RotationCandidate[][] = [];
          do {
            const after = pages.at(-1)?.at(-1);
            pages.push([...(await at.ledger.rotatable({ until: FOREVER, limit, after }))]);
          } while (pages.at(-1)?.length === limit);
          const sorted = [...all].sort(([a, day], [b, other]) => day - other || compareIds(a, b));
          expect(pages.flat().map(({ user_group_id }) => user_group_id)).toEqual(sorted.map(([id]) => id));
        }),
        { numRuns: rounds(40) },
      );
    });
  });
}

const beginRotation = (at: Opened, id = "acme"): Promise<KnownToken | undefined> =>
  write(at, (transaction) => transaction.beginRotation(id, NOW));

const rotate = (at: Opened, result: RotationResult, now = NOW): Promise<void> =>
  write(at, (transaction) => transaction.recordRotation(result, now));

/** Since when each token is live, the oldest first. */
const tokensIn = async ({ ledger }: Opened, until = FOREVER): Promise<[id: string, since: Date][]> =>
  (await ledger.rotatable({ until, limit: 100 })).map(({ user_group_id, tokenSince }) => [
    user_group_id,
    tokenSince,
  ]);
