import { describe, expect, it } from "vitest";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { tenants, World } from "../../fakes/world.ts";

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

/** Expects that service, token store and ledger have nothing of these groups. */
function expectGone(world: World, ...ids: string[]): void {
  for (const id of ids) {
    expect(groups(world)).not.toContain(id);
    expect([...world.store.tokens.keys()]).not.toContain(id);
    expect([...world.ledger.rows.keys()]).not.toContain(id);
  }
}

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

  it("is deleted only if flagged with deletion.when: flagged", async () => {
    const world = await aSyncedWorld(flagged());
    world.tenants = [...tenants("a", "b"), ...tenants("c").map((row) => ({ ...row, removed: true }))];
    const report = await world.sync({ settings: flagged() });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 1, missing: 1, unchanged: 2 } });
    expect(groups(world)).toEqual(["a", "b", "d"]);
    // The flagged row stays in the source, and is no tenant.
    expect(await world.sync({ settings: flagged() })).toMatchObject({
      counts: { created: 0, deleted: 0, missing: 1, unchanged: 2 },
      requests: 0,
    });
  });

  it("is deleted by its flag after the grace period, even if its row is purged meanwhile", async () => {
    const graced = flagged({ gracePeriodMs: 24 * HOUR });
    const world = await aSyncedWorld(graced);
    world.tenants = [...tenants("a", "b"), ...tenants("c").map((row) => ({ ...row, removed: true }))];
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 2, deleted: 0 } });
    await world.time.sleep(HOUR);
    keep(world, "a", "b");
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 2, deleted: 0 } });
    await world.time.sleep(23 * HOUR);
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 1, deleted: 1 } });
    expectGone(world, "c");
    expect(groups(world)).toEqual(["a", "b", "d"]);
  });

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

  it("is kept and reported with deletion.when: never", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const never = deletion({ when: "never" });
    expect(await world.sync({ settings: never })).toMatchObject({ outcome: "ok", counts: { missing: 3 } });
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
