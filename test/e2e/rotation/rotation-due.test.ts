import { expect, test } from "vitest";
import { passDays } from "../daemon/pass-time.ts";
import { aWorld, idOf, type World } from "../world.ts";

/** Tokens of t-00001 to t-00006 that are 101 to 106 days old, so that the last one is the oldest; two more are new. */
async function aWorldOfOldTokens(): Promise<World> {
  const world = await aWorld({ tenants: 8 });
  expect((await world.sync()).code).toBe(0);
  for (let number = 1; number <= 6; number++) await passDays(world, idOf(number), 100 + number);
  await world.forgetRequests();
  await world.configure({ rotation: { max_age: "90d" } });
  return world;
}

const OLDEST_FIRST = ["t-00006", "t-00005", "t-00004", "t-00003", "t-00002", "t-00001"];
const idsOf = (entries: readonly { user_group_id: string }[]): string[] =>
  entries.map(({ user_group_id }) => user_group_id);

test("a sync also rotates the tokens that are too old, and no others", async () => {
  const world = await aWorldOfOldTokens();
  await world.addTenants(9, 9);
  const before = await world.live();
  expect(await world.plan()).toMatchObject({ rotations_due: 6, create: [{ user_group_id: "t-00009" }] });
  expect(idsOf((await world.plan()).rotate)).toEqual(OLDEST_FIRST);

  expect(await world.sync()).toMatchObject({
    code: 0,
    report: { outcome: "ok", created: 1, rotated: 6, unchanged: 8, requests: 7 },
  });
  const after = await world.live();
  expect(Object.keys(before).filter((id) => after[id] !== before[id])).toEqual(OLDEST_FIRST.toSorted());
  expect(await world.stored()).toEqual(after);
  expect(await world.plan()).toMatchObject({ rotate: [], rotations_due: 0 });
  expect(await world.status()).toMatchObject({
    groups: { total: 9, in_sync: 9 },
    runs: [{ command: "sync", outcome: "ok", created: 1, rotated: 6 }, {}],
  });
  expect(await world.sync()).toMatchObject({ code: 0, report: { rotated: 0, requests: 0 } });
});
