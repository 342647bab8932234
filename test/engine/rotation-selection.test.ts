import { expect, test } from "vitest";
import type { CandidateList } from "../../src/core/record/candidates.ts";
import type { GroupRecord } from "../../src/core/record/record.ts";
import { rotationCandidates } from "../../src/engine/plan/candidate-pages.ts";
import { groupsOf } from "../../src/engine/rotate.ts";
import { aRecord } from "../builders/records.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";

const DAY = 86_400_000;
const clock = new VirtualClock(new VirtualTime());

/** A ledger with these groups, in pages as the caller asks for them. */
const aLedger = (ids: readonly string[], tokenSince = clock.now()) => ({
  candidates: async (
    list: CandidateList,
    { limit, after }: { limit: number; after?: GroupRecord | undefined },
  ) =>
    ids
      .filter(
        (id) => (!after || id > after.user_group_id) && (!("of" in list && list.of) || list.of.includes(id)),
      )
      .slice(0, limit)
      .map((user_group_id) => aRecord({ user_group_id, tokenSince })),
});
const many = Array.from({ length: 1_200 }, (_, n) => `t${String(n).padStart(4, "0")}`);

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("all groups are selected whatever the age of their tokens", async () => {
  expect(await groupsOf({ kind: "all" }, { ledger: aLedger(["a"]), clock })).toEqual({});
});

test("an age selects the tokens that are live since then or longer", async () => {
  const selection = { kind: "older than", ageMs: 90 * DAY } as const;
  const liveSince = new Date(clock.now().getTime() - 90 * DAY);
  expect(await groupsOf(selection, { ledger: aLedger(["a"]), clock })).toEqual({ liveSince });
});

test("ids select their groups", async () => {
  const selection = { kind: "only", ids: new Set(["a", "c"]) } as const;
  expect(await groupsOf(selection, { ledger: aLedger(["a", "b", "c"]), clock })).toEqual({ of: ["a", "c"] });
});

test("ids that the ledger doesn't have are refused, all in one message", async () => {
  const selection = { kind: "only", ids: new Set(["a", "x", "y"]) } as const;
  await expect(groupsOf(selection, { ledger: aLedger(["a"]), clock })).rejects.toMatchObject({
    code: "UNKNOWN_ID",
    message: 'the ledger has no group of "x", "y"',
  });
});

test("many ids are looked up page by page to the last", async () => {
  const selection = { kind: "only", ids: new Set(many) } as const;
  expect(await groupsOf(selection, { ledger: aLedger(many), clock })).toEqual({ of: many });
});

test("candidates are read page by page to the last", async () => {
  const tokenSince = clock.now();
  expect(await all(rotationCandidates(aLedger(many, tokenSince), { due: tokenSince }))).toEqual(
    many.map((user_group_id) => ({ user_group_id, tokenSince, failure: null })),
  );
});
