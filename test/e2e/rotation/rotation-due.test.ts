import { expect, test } from "vitest";
import { passDays } from "../daemon/pass-time.ts";
import { aWorld, type ConfigChanges, idOf, type World } from "../world.ts";

const HOUR = 3_600_000;
const MAX_AGE = { max_age: "90d" };

/** Tokens of t-00001 to t-00006 that are 101 to 106 days old, so that the last one is the oldest; two more are new. */
async function aWorldOfOldTokens(rotation: ConfigChanges[string] = {}): Promise<World> {
  const world = await aWorld({ tenants: 8 });
  expect((await world.sync()).code).toBe(0);
  for (let number = 1; number <= 6; number++) await passDays(world, idOf(number), 100 + number);
  await world.forgetRequests();
  await world.configure(rotation === undefined ? {} : { rotation: Object.assign({}, MAX_AGE, rotation) });
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

test("rotation.max_per_run spreads rotations over several syncs, the oldest tokens first", async () => {
  const world = await aWorldOfOldTokens({ max_per_run: 4 });
  let live = await world.live();
  for (const due of [OLDEST_FIRST.slice(0, 4), OLDEST_FIRST.slice(4), []]) {
    expect(idsOf((await world.plan()).rotate)).toEqual(due);
    expect(await world.sync()).toMatchObject({ code: 0, report: { rotated: due.length } });
    const before = live;
    live = await world.live();
    expect(Object.keys(live).filter((id) => live[id] !== before[id])).toEqual(due.toSorted());
  }
});

/** The time this number of hours from now as `HH:MM`, in the config's time zone. */
const clock = (hours: number): string => new Date(Date.now() + hours * HOUR).toISOString().slice(11, 16);

test("a sync rotates only in rotation.window, in the config's time zone", async () => {
  const world = await aWorldOfOldTokens({ window: `${clock(6)}-${clock(12)}` });
  expect(await world.plan()).toMatchObject({ rotate: [], rotations_due: 6 });
  expect((await world.run("plan")).stdout).toContain("6 tokens to rotate in rotation.window");
  expect(await world.sync()).toMatchObject({ code: 0, report: { rotated: 0, requests: 0 } });

  // The same hours elsewhere: nine hours ahead of UTC, they have begun three hours ago.
  await world.configure({
    rotation: { ...MAX_AGE, window: `${clock(6)}-${clock(12)}` },
    timezone: "Asia/Tokyo",
  });
  expect(idsOf((await world.plan()).rotate)).toEqual(OLDEST_FIRST);
  expect(await world.sync()).toMatchObject({ code: 0, report: { rotated: 6 } });
  expect(await world.stored()).toEqual(await world.live());
});
