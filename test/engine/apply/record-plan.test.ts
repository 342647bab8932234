import { describe, expect, it } from "vitest";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { tenants, World } from "../../fakes/world.ts";
import { aSession } from "../serving/a-session.ts";

const HOUR = 3_600_000;

const settings: Partial<SyncSettings> = {
  update: "replace",
  deletion: { when: "absent", gracePeriodMs: 24 * HOUR, limit: { count: 1, percent: 0 } },
};

const IDS = ["a", "b", "c", "d"];

async function aSyncedWorld(settings: Partial<SyncSettings> = {}): Promise<World> {
  const world = new World(tenants(...IDS));
  await world.sync({ settings });
  world.service.requests.length = 0;
  return world;
}

const keep = (world: World, ...ids: string[]): void => {
  world.tenants = tenants(...ids);
};

const groups = (world: World): string[] => [...world.service.groups.keys()].sort();

const deletion = (overrides: Partial<SyncSettings["deletion"]>): Partial<SyncSettings> => ({
  deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 1_000, percent: 100 }, ...overrides },
});

it("if removals are held, the grace period of newly missing tenants starts at the paused grace clock", async () => {
  const world = new World(tenants("a", "b", "c"));
  await world.sync({ settings });
  await world.time.sleep(30 * 24 * HOUR);
  world.tenants = tenants("a", "b").map((tenant) => ({ ...tenant, plan: "silver" }));
  expect(await world.sync({ settings })).toMatchObject({ counts: { held: 2, missing: 1 } });

  world.tenants = tenants("a", "b");
  expect(await world.sync({ settings })).toMatchObject({ counts: { held: 0, missing: 1 } });
  await world.time.sleep(23 * HOUR);
  expect(await world.sync({ settings })).toMatchObject({ counts: { missing: 1 } });
  await world.time.sleep(HOUR);
  expect(await world.sync({ settings })).toMatchObject({ counts: { deleted: 1 } });
});

describe("a tenant that is gone or flagged", () => {
  const flagged = (settings: Partial<SyncSettings["deletion"]> = {}) =>
    deletion({ when: "flagged", ...settings });

  it("is kept if its row came back without the flag before it vanished", async () => {
    const graced = flagged({ gracePeriodMs: 24 * HOUR });
    const world = await aSyncedWorld(graced);
    world.tenants = world.tenants.map((row) => ({ ...row, removed: row.id === "c" }));
    await world.sync({ settings: graced });
    keep(world, ...IDS);
    await world.sync({ settings: graced });
    keep(world, "a", "b", "d");
    for (let days = 0; days < 3; days++) {
      expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 1, deleted: 0 } });
      await world.time.sleep(24 * HOUR);
    }
    expect(groups(world)).toEqual(IDS);
  });

  it("is reported once, by the sync that notices it", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    const settings = deletion({ when: "never" });
    const first = world.start({ settings });
    await first.report;
    expect(first.events).toContainEqual({ kind: "left", user_group_id: "d", absence: "absent" });
    const again = world.start({ settings });
    await again.report;
    expect(again.events).not.toContainEqual(expect.objectContaining({ kind: "left" }));
  });
});

/** What a sync says of rejected rows. */
async function said(world: World, only?: string[]): Promise<string[]> {
  const { events, report } = world.start({ only: only && new Set(only) });
  await report;
  return inWords(events);
}

const inWords = (events: readonly RunEvent[]): string[] =>
  events.flatMap((event) =>
    event.kind === "rejected" || event.kind === "accepted"
      ? [`${event.kind} ${event.rejection.user_group_id} ${event.rejection.code} ${event.rejection.rows}`]
      : [],
  );

const remembered = (world: World) =>
  world.ledger.rejections.map(({ user_group_id, code, rows }) => [user_group_id, code, rows]);

const A_IS_NAMELESS = { id: "a", name: null };

describe("a sync", () => {
  it("says it again if a row is rejected for another reason, but not that it was accepted", async () => {
    const world = new World([A_IS_NAMELESS, ...tenants("b")]);
    await world.sync();
    world.tenants = [...tenants("a"), ...tenants("a", "b")];
    expect(await said(world)).toEqual(["rejected a ID_DUPLICATE 1"]);
    expect(remembered(world)).toEqual([["a", "ID_DUPLICATE", 1]]);
  });

  it("goes on to see a rejected row in whose bucket nothing else differs", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    // A removed row is in no sum, so at first nobody sees that the id is there twice.
    const twice = [...world.tenants, { id: "a", removed: true }];
    world.tenants = twice;
    expect((await world.sync({ only: new Set(["a"]) })).counts).toMatchObject({ rejected: 1 });
    for (let n = 0; n < 2; n++)
      expect((await world.sync()).counts).toMatchObject({ rejected: 1, unchanged: 1 });
    expect(remembered(world)).toEqual([["a", "ID_DUPLICATE", 1]]);
  });

  it("of some tenants keeps what is remembered of these right, and leaves the others alone", async () => {
    const world = new World([A_IS_NAMELESS, { id: "b", name: null }, ...tenants("c")]);
    await world.sync();
    world.tenants = [...tenants("a", "b"), { id: "c", name: null }];
    expect(await said(world, ["a"])).toEqual(["accepted a VALUE_NULL 1"]);
    expect(remembered(world)).toEqual([["b", "VALUE_NULL", 1]]);
    expect(await said(world, ["c"])).toEqual(["rejected c VALUE_NULL 1"]);
    expect(remembered(world)).toEqual([
      ["b", "VALUE_NULL", 1],
      ["c", "VALUE_NULL", 1],
    ]);
  });
});

it("a look at one tenant keeps what is remembered of it right", async () => {
  const world = new World(tenants("a", "b"));
  const session = aSession(world);
  await session.run;
  world.tenants[0] = A_IS_NAMELESS;
  expect(await session.serve("a")).toMatchObject({ kind: "conflict", outcome: "rejected" });
  await world.time.sleep(1_000);
  expect(remembered(world)).toEqual([["a", "VALUE_NULL", 1]]);
  world.tenants.splice(0, 1, ...tenants("a"));
  await session.serve("a");
  await world.time.sleep(1_000);
  expect(remembered(world)).toEqual([]);
  await session.end();
});
