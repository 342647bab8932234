import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { DueTokens } from "../../../src/core/record/candidates.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { anyId } from "../../builders/arbitraries.ts";
import { aDeleted, anApplied, anApply } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { rounds } from "../../support/long.ts";
import { begin, inDays, LATER, type LedgerPlace, NOW, type Opened, opened, runAt, take } from "./rig.ts";

const FOREVER = inDays(10_000);

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
  });

  describe(`${name}: groups that can be rotated`, () => {
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

const rotatable = (
  { ledger }: Opened,
  which: DueTokens,
  page: Parameters<Opened["ledger"]["candidates"]>[1] = { limit: 100 },
): Promise<readonly GroupRecord[]> => ledger.candidates({ kind: "rotatable", ...which }, page);
