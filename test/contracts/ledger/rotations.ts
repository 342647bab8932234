import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { CandidateList, DueTokens, GroupSelection } from "../../../src/core/record/candidates.ts";
import type { EventOf } from "../../../src/core/record/next.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { anyId } from "../../builders/arbitraries.ts";
import {
  aDelete,
  aDeleted,
  aFailed,
  aNotUpdated,
  anApplied,
  anApply,
  aRotation,
} from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { rounds } from "../../support/long.ts";
import {
  begin,
  carryOut,
  hold,
  inDays,
  LATER,
  type LedgerPlace,
  leave,
  NOW,
  type Opened,
  opened,
  runAt,
  take,
} from "./rig.ts";

const FOREVER = inDays(10_000);
const refusal = { code: "REFUSED", message: "POST was answered HTTP 422", retryAt: LATER };
const aFailedRotation = (overrides: Parameters<typeof aRotation>[0] = {}): EventOf =>
  aRotation({ tokenFingerprint: null, failure: refusal, isNew: false, ...overrides });

/** Which token is live since when, and what becomes of rotations. */
export function ledgerRotationsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  /** A ledger in which these groups were created at this time. */
  const withGroups = async (ids = ["acme"], time = NOW): Promise<Opened> => {
    const at = await opened(makePlace);
    await create(at, ids, time);
    return at;
  };

  describe(`${name}: a live token`, () => {
    test("is remembered for a year after its end", async () => {
      const at = await withGroups();
      await recordAt(at, aDeleted(), NOW);
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
      await create(at, ["oldest"], NOW);
      await create(at, ["newer"], inDays(1));
      await leave(at, "absent", { ms: 0, reads: 1 }, ["oldest"]);
      expect((await at.ledger.status()).oldestToken).toEqual(NOW);
    });
  });

  describe(`${name}: groups that are there, or may be`, () => {
    /** In every state that there is. */
    const inAllStates = async (): Promise<Opened> => {
      const at = await withGroups(["deleting", "failing", "gone", "held", "resting", "rotating", "updating"]);
      await begin(
        at,
        aDelete({ user_group_id: "deleting" }),
        anApply({ kind: "update", user_group_id: "updating" }),
      );
      await carryOut(at, aFailed({ change: anApply({ kind: "update", user_group_id: "failing" }) }), LATER);
      await leave(at, "absent", { ms: 0, reads: 1 }, ["gone"]);
      await hold(at, [{ kind: "replace", user_group_id: "held" }]);
      await beginRotation(at, "rotating");
      await carryOut(at, aNotUpdated({ change: anApply({ user_group_id: "adopted" }) }), LATER);
      await carryOut(at, aFailed({ change: anApply({ user_group_id: "refused" }) }), LATER);
      await begin(at, anApply({ user_group_id: "unborn" }));
      await create(at, ["deleted"], NOW);
      const outcome = { kind: "deleted", change: aDelete({ user_group_id: "deleted" }) } as const;
      await begin(at, outcome.change);
      const notRemoved = { code: "TOKEN_NOT_REMOVED", message: "still needed" };
      await take(at, [ended(outcome, { notRemoved, retryAt: LATER })]);
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
      expect(await countOf(at, { kind: "existing" })).toBe(ALL.length);
      expect(await existing(at, { isRemovalUnderWay: true })).toEqual(["deleting"]);
    });

    test("are looked for by their ids, byte by byte", async () => {
      const at = await inAllStates();
      const of = ["updating", "Gone", "gone", "gone ", "refused", "unknown", "adopted"];
      expect(await existing(at, { of })).toEqual(["adopted", "gone", "updating"]);
      expect(await existing(at, { of, isRemovalUnderWay: true })).toEqual([]);
      expect(await existing(at, { of: [] })).toEqual([]);
      expect(await countOf(at, { kind: "existing", of })).toBe(3);
    });

    test("have tokens of an age, or are as old as their intent", async () => {
      const at = await withGroups(["old"]);
      await create(at, ["new"], LATER);
      await begin(at, anApply({ user_group_id: "unborn" }));
      const justBefore = new Date(LATER.getTime() - 1);
      expect(await existing(at, { liveSince: new Date(NOW.getTime() - 1) })).toEqual([]);
      expect(await existing(at, { liveSince: justBefore })).toEqual(["old", "unborn"]);
      expect(await existing(at, { liveSince: justBefore, of: ["old", "new"] })).toEqual(["old"]);
      expect(await existing(at, { liveSince: LATER })).toEqual(["new", "old", "unborn"]);
      expect(await countOf(at, { kind: "existing", liveSince: justBefore })).toBe(2);
    });

    test("come in the order of their ids, on pages of any size, whatever is rotated meanwhile", async () => {
      const at = await opened(makePlace);
      const all = new Set<string>();
      const some = fc.uniqueArray(anyId(), { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(some, fc.integer({ min: 1, max: 5 }), async (ids, limit) => {
          for (const id of ids.filter((id) => !all.has(id))) {
            await create(at, [id], NOW);
            all.add(id);
          }
          const pages: (readonly GroupRecord[])[] = [];
          do {
            pages.push(
              await at.ledger.candidates({ kind: "existing" }, { limit, after: pages.at(-1)?.at(-1) }),
            );
            for (const { user_group_id } of pages.at(-1) ?? []) {
              await beginRotation(at, user_group_id);
              const tokenFingerprint = `${pages.length} ${user_group_id}`;
              await rotate(at, aRotation({ user_group_id, tokenFingerprint }), LATER);
            }
          } while (pages.at(-1)?.length === limit);
          expect(pages.flat().map(({ user_group_id }) => user_group_id)).toEqual([...all].sort(compareIds));
        }),
        { numRuns: rounds(40) },
      );
    });
  });

  describe(`${name}: groups that can be rotated`, () => {
    test("are those whose tokens are live since then or longer", async () => {
      const at = await withGroups(["old"]);
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
      const at = await withGroups(["absent", "at rest", "failing", "held", "open", "rotating", "unsettled"]);
      await begin(at, anApply({ user_group_id: "unborn" }), aDelete({ user_group_id: "unsettled" }));
      await leave(at, "absent", { ms: 0, reads: 1 }, ["absent"]);
      await hold(at, [{ kind: "replace", user_group_id: "held" }]);
      await carryOut(at, aFailed({ change: anApply({ kind: "update", user_group_id: "failing" }) }), LATER);
      await beginRotation(at, "rotating");
      await rotate(at, aFailedRotation({ user_group_id: "open", isOpen: true }));
      const candidates = await rotatable(at, { due: FOREVER });
      expect(candidates.map(({ user_group_id }) => user_group_id)).toEqual([
        "at rest",
        "failing",
        "held",
        "open",
        "rotating",
      ]);
      expect(await countOf(at, { kind: "rotatable", due: FOREVER })).toBe(5);
    });

    test("are those whose new token is wanted, gone tenants too, until they have it", async () => {
      const at = await withGroups(["absent", "asked", "done", "not asked", "taken back", "updating"]);
      const update = anApply({ kind: "update", user_group_id: "updating" });
      await begin(at, anApply({ user_group_id: "unborn" }), update);
      await leave(at, "absent", { ms: 0, reads: 1 }, ["absent"]);
      for (const id of ["absent", "asked", "done", "taken back", "unborn", "updating"])
        await take(at, [{ kind: "wanted", by: id === "asked" ? "name" : "choice", user_group_id: id }]);
      await rotate(at, aRotation({ user_group_id: "done" }));
      await take(at, [{ kind: "unwanted", user_group_id: "taken back" }]);
      const wanted = await rotatable(at, { due: "wanted" });
      expect(wanted.map(({ user_group_id }) => user_group_id)).toEqual(["absent", "asked", "updating"]);
      expect(await countOf(at, { kind: "rotatable", due: "wanted" })).toBe(3);
      expect(await rotatable(at, { due: "wanted by name" })).toMatchObject([{ user_group_id: "asked" }]);
      expect(await countOf(at, { kind: "rotatable", due: "wanted", of: ["asked", "done"] })).toBe(1);
      expect(await rotatable(at, { due: "wanted", of: ["asked", "done"] })).toHaveLength(1);
      const all = ["absent", "asked", "unborn", "updating"];
      expect(await existing(at, { isWanted: true })).toEqual(all);
      expect(await tokensIn(at)).not.toContainEqual(["asked", expect.anything()]);
      expect((await at.ledger.status()).groups).toMatchObject({ wanted: 4 });
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
          const pages: (readonly GroupRecord[])[] = [];
          do {
            pages.push(await rotatable(at, { due: FOREVER }, { limit, after: pages.at(-1)?.at(-1) }));
          } while (pages.at(-1)?.length === limit);
          const sorted = [...all].sort(([a, day], [b, other]) => day - other || compareIds(a, b));
          expect(pages.flat().map(({ user_group_id }) => user_group_id)).toEqual(sorted.map(([id]) => id));
        }),
        { numRuns: rounds(40) },
      );
    });
  });
}

const recordAt = async (at: Opened, outcome: Outcome, now: Date): Promise<void> => {
  await begin(at, outcome.change);
  await take(at, [ended(outcome, { retryAt: LATER })], now);
};

const create = async (at: Opened, ids: readonly string[], now: Date): Promise<void> => {
  const changes = ids.map((user_group_id) => anApply({ user_group_id }));
  await begin(at, ...changes);
  await take(
    at,
    changes.map((one) => ended(anApplied({ change: one }))),
    now,
  );
};

const beginRotation = (at: Opened, user_group_id: string): Promise<unknown> =>
  take(at, [{ kind: "rotation_begun", user_group_id }]);

const rotate = (at: Opened, end: EventOf, now = NOW): Promise<unknown> => take(at, [end], now);

const rotatable = (
  { ledger }: Opened,
  which: DueTokens,
  page: Parameters<Opened["ledger"]["candidates"]>[1] = { limit: 100 },
): Promise<readonly GroupRecord[]> => ledger.candidates({ kind: "rotatable", ...which }, page);

async function existing({ ledger }: Opened, which: GroupSelection = {}): Promise<string[]> {
  const page = await ledger.candidates({ kind: "existing", ...which }, { limit: 100 });
  return page.map(({ user_group_id }) => user_group_id);
}

const countOf = ({ ledger }: Opened, list: CandidateList): Promise<number> => ledger.candidateCount(list);

/** Since when each token is live, the oldest first. */
const tokensIn = async (at: Opened, due = FOREVER): Promise<[id: string, since: Date | null][]> =>
  (await rotatable(at, { due })).map(({ user_group_id, tokenSince }) => [user_group_id, tokenSince]);
