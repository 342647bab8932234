import { expect, test } from "vitest";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { type StartOptions, tenants, World } from "../../fakes/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const settings: Partial<SyncSettings> = {
  deletion: { when: "absent", gracePeriodMs: DAY, limit: { count: 100, percent: 100 } },
};

/** A sync on a host whose clock is so far ahead of the ledger's. */
async function syncAhead(world: World, ms: number, options: StartOptions = {}): Promise<RunReport> {
  const { clock, report } = world.start({ settings, ...options });
  clock.jump(ms);
  const ended = await report;
  if (ended === "died") throw new Error("it died");
  return ended;
}

/** Two tenants are gone, and one sync has seen it. */
async function twoGone(): Promise<World> {
  const world = new World(tenants("a", "b", "here"));
  await world.sync({ settings });
  world.tenants = tenants("here");
  await world.sync({ settings });
  return world;
}

const groupsOf = (world: World): string[] => [...world.service.groups.keys()].sort();
const ALL = ["a", "b", "here"];
const DIFFERS = expect.objectContaining({ code: "CLOCK_DIFFERS", user_group_id: null });

test.each([26 * HOUR, -26 * HOUR, 6 * MINUTE])(
  "a clock that is set by %i ms ends no grace period, neither then nor once it is right again",
  async (ms) => {
    const world = await twoGone();
    await world.time.sleep(15_000);
    const report = await syncAhead(world, ms);
    expect(report).toMatchObject({ outcome: "partial", hold: undefined, error: undefined });
    expect(report.errors).toEqual([DIFFERS]);
    expect(report.counts).toMatchObject({ missing: 2, deleted: 0, held: 0 });
    await syncAhead(world, ms);
    await world.time.sleep(15_000);
    for (let n = 0; n < 3; n++) expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
    expect(groupsOf(world)).toEqual(ALL);
    await world.time.sleep(DAY);
    await world.sync({ settings });
    expect(groupsOf(world)).toEqual(["here"]);
  },
);

test("a deletion without a grace period waits too, and no code approves it", async () => {
  const held: Partial<SyncSettings> = {
    deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 0, percent: 0 } },
  };
  const world = new World(tenants("a", "here"));
  await world.sync({ settings: held });
  world.tenants = tenants("here");
  const approval = (await world.sync({ settings: held })).hold?.approval ?? "";
  const report = await syncAhead(world, DAY, { settings: held, approval });
  expect(report).toMatchObject({ outcome: "partial", counts: { deleted: 0, held: 0, missing: 1 } });
  expect(report.errors).toEqual([DIFFERS]);
  // The code is as good as before.
  expect(await world.sync({ settings: held, approval })).toMatchObject({ counts: { deleted: 1 } });
});

test("a replacement waits, and its group is named", async () => {
  const replacing: Partial<SyncSettings> = { ...settings, update: "replace" };
  const world = new World([{ id: "a", name: "A", plan: "free" }]);
  await world.sync({ settings: replacing });
  const token = world.service.groups.get("a")?.token;
  world.tenants = [{ id: "a", name: "A", plan: "pro" }];
  const report = await syncAhead(world, DAY, { settings: replacing });
  expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
  expect(report.errors).toEqual([
    DIFFERS,
    expect.objectContaining({ user_group_id: "a", code: "CLOCK_DIFFERS" }),
  ]);
  expect(world.service.groups.get("a")?.token).toBe(token);
  expect(await world.sync({ settings: replacing })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
});

test("all else goes on, and a tenant that comes back starts anew", async () => {
  const world = await twoGone();
  await world.time.sleep(23 * HOUR);
  world.tenants = tenants("a", "here", "new");
  expect(await syncAhead(world, DAY)).toMatchObject({ outcome: "partial", counts: { created: 1 } });
  expect(groupsOf(world)).toEqual([...ALL, "new"]);
  world.tenants = tenants("here", "new");
  await world.sync({ settings });
  await world.time.sleep(2 * HOUR);
  await world.sync({ settings });
  expect(groupsOf(world)).toContain("a");
});

test("a run with another clock is no good sync: after it a pause may be long", async () => {
  const world = await twoGone();
  for (let n = 0; n < 12; n++) {
    await world.time.sleep(HOUR / 4);
    await world.sync({ settings });
  }
  await world.time.sleep(3 * DAY);
  await syncAhead(world, -2 * DAY);
  const { events, report } = world.start({ settings });
  await report;
  expect(events).toContainEqual(expect.objectContaining({ code: "GRACE_PERIOD_RESTARTED" }));
  expect(groupsOf(world)).toEqual(ALL);
});
