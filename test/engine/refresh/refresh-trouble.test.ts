import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { Group } from "../../../src/core/group/group.ts";
import { tenants, World } from "../../fakes/world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ids = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `t${String(n).padStart(3, "0")}`);

const rotateAt = (world: World, id: string): void => {
  const held = world.service.groups.get(id);
  if (held) held.token = world.service.newToken(id);
};

/** Groups at a service that is known to keep what exists. */
async function worldWith(...which: string[]): Promise<World> {
  const world = new World(tenants(...which));
  await world.sync();
  world.ledger.service = { ...world.ledger.service, updates: false };
  await world.time.sleep(HOUR);
  return world;
}

test.each(["upsert", "replace", "never"] as const)(
  "with service.update: %s, a service that shortens names has not renamed its groups",
  async (update) => {
    const world = new World(tenants("a", "b"));
    const { service } = world;
    const put = service.put.bind(service);
    service.put = (group: Group) => put({ ...group, name: group.name.slice(0, 6) });
    const settings = { update };
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
    world.ledger.service = { ...world.ledger.service, updates: false };
    const before = new Map(service.tokens);
    await world.time.sleep(HOUR);
    const report = await world.sync({ refresh: true, settings });
    expect(report).toMatchObject({ outcome: "ok", counts: { refreshed: 2, drift: { name: 0 } } });
    await world.sync({ settings });
    expect(service.tokens).toEqual(before);
  },
);

describe("with service.update: never", () => {
  const settings = { update: "never" } as const;

  test("a refresh that died leaves an outdated group as it is, and the next one asks for it", async () => {
    const world = await worldWith("a", "b");
    world.tenants = world.tenants.map((row) => (row.id === "a" ? { ...row, name: "New name" } : row));
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { outdated: 1 } });
    await world.time.sleep(HOUR);
    const dying = world.start({
      refresh: true,
      settings,
      at: ({ when, call, id }) => {
        if (when === "after" && call === "getOrCreate" && id === "a") dying.instance.kill();
      },
    });
    expect(await dying.report).toBe("died");
    await world.time.sleep(HOUR);
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { outdated: 1 } });
    rotateAt(world, "a");
    await world.time.sleep(HOUR);
    expect(await world.sync({ refresh: true, settings })).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("a change that has failed before the key was never doesn't keep the group from being asked for", async () => {
    const world = await worldWith("a");
    world.tenants = [{ id: "a", name: "New name", plan: "gold" }];
    expect(await world.sync()).toMatchObject({ outcome: "partial" });
    rotateAt(world, "a");
    await world.time.sleep(HOUR);
    await world.sync({ refresh: true, settings });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

describe("the guard", () => {
  const limit = { deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 3, percent: 0 } } } as const;

  test("counts a group that was made again by a GET whose answer was lost", async () => {
    const world = await worldWith(...ids(50));
    world.service.groups.clear();
    const lost = new Set<string>();
    const report = await world.sync({
      refresh: true,
      settings: limit,
      at: ({ when, call, id }) => {
        if (when !== "after" || call !== "getOrCreate" || id === undefined || lost.has(id)) return;
        lost.add(id);
        throw new ServiceFailure("TIMEOUT", "no answer came");
      },
    });
    expect(report).toMatchObject({ outcome: "held" });
    expect(world.service.groups.size).toBeLessThan(20);
  });

  test("counts a group that was made again and whose token no store took", async () => {
    const world = await worldWith("a", "b", "c");
    world.service.groups.delete("a");
    world.store.refused.add("a");
    expect(await world.sync({ refresh: true })).toMatchObject({ counts: { drift: { gone: 1 } } });
    expect(world.ledger.foundGone).toHaveLength(1);
  });

  test("counts a group that the next sync makes again, because a GET of the refresh got no answer", async () => {
    const world = await worldWith(...ids(50));
    world.service.groups.clear();
    await world.sync({
      refresh: true,
      settings: limit,
      at: ({ when, call }) => {
        if (when === "before" && call === "getOrCreate")
          throw new ServiceFailure("TIMEOUT", "no answer came");
      },
    });
    await world.time.sleep(HOUR);
    await world.sync({ settings: limit });
    expect(world.ledger.foundGone).toHaveLength(world.service.groups.size);
  });

  test("is appeased by the code even if the clock that found the groups gone was ahead", async () => {
    const world = await worldWith(...ids(20));
    world.service.groups.clear();
    const ahead = world.start({ refresh: true, settings: limit });
    ahead.clock.jump(3 * DAY);
    const report = await ahead.report;
    if (report === "died") throw new Error("it died");
    const refreshApproval = report.refreshHold?.approval;
    expect(await world.sync({ refresh: true, refreshApproval, settings: limit })).toMatchObject({
      outcome: "ok",
    });
    await world.time.sleep(HOUR);
    expect(await world.sync({ refresh: true, settings: limit })).toMatchObject({
      outcome: "ok",
      requests: 20,
    });
  });
});

test.each([
  ["each half hour, in office hours", (half: number) => half % 48 >= 18 && half % 48 < 34],
  ["two at a time, six hours apart", (half: number) => half % 12 < 2],
])("service.refresh is kept by syncs %s", async (_, isSync) => {
  const world = await worldWith(...ids(100));
  const settings = { refresh: { everyMs: 7 * DAY } };
  let oldest = 0;
  for (let half = 0; half < 48 * 28; half++) {
    await world.time.sleep(HOUR / 2);
    if (!isSync(half)) continue;
    await world.sync({ settings });
    for (const { verifiedAt } of world.ledger.rows.values())
      oldest = Math.max(oldest, world.time.now().getTime() - (verifiedAt?.getTime() ?? 0));
  }
  expect(oldest / DAY).toBeLessThan(8);
});

test("a group that is never answered counts as failed, also if its GET outlasts the refresh's time", async () => {
  const world = await worldWith("a", "b");
  const settings = { refresh: { everyMs: DAY } };
  for (let sync = 0; sync < 2; sync++) {
    await world.time.sleep(10_000);
    await world.sync({ settings });
  }
  await world.time.sleep(DAY);
  const report = await world.sync({
    settings,
    at: async ({ when, call, id }) => {
      if (when !== "before" || call !== "getOrCreate" || id !== "a") return;
      await world.time.sleep(15_000);
      throw new ServiceFailure("TIMEOUT", "no answer came");
    },
  });
  expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
});

test("service.refresh is kept beside syncs of single tenants", async () => {
  const world = await worldWith(...ids(100));
  const settings = { refresh: { everyMs: DAY } };
  for (let hour = 0; hour < 26; hour++) {
    for (let n = 0; n < 30; n++) await world.sync({ only: new Set(["t000"]), settings });
    await world.time.sleep(HOUR);
    await world.sync({ settings });
  }
  const asked = new Set(
    world.service.requests
      .filter(({ operation }) => operation === "GET")
      .slice(100)
      .map(({ id }) => id),
  );
  expect(asked.size).toBe(100);
});

test("a code that nothing needs is told of, also if no group is due", async () => {
  const world = await worldWith("a");
  await world.sync({ refresh: true });
  world.tenants = [{ id: "a", name: null, plan: "gold" }];
  const { events, report } = world.start({ refresh: true, refreshApproval: "wrong", only: new Set(["a"]) });
  await report;
  expect(events).toContainEqual(expect.objectContaining({ code: "APPROVAL_NOT_NEEDED" }));
});
