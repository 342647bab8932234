import { describe, expect, it } from "vitest";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import type { Point } from "../../fakes/instance.ts";
import type { TenantRecord } from "../../fakes/tenant-source.ts";
import { tenants, World } from "../../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];

const HOUR = 3_600_000;

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

function change(world: World, id: string, columns: TenantRecord): void {
  world.tenants = world.tenants.map((tenant) => (tenant.id === id ? { ...tenant, ...columns } : tenant));
}

describe("the grace period", () => {
  const settings = deletion({ gracePeriodMs: 24 * HOUR });
  const later = async (world: World, hours: number): Promise<number> => {
    await world.time.sleep(hours * HOUR);
    return (await world.sync({ settings })).counts.deleted;
  };

  describe("after a long pause, in which tenants may have been back", () => {
    /** A tenant has been missing for 23 hours, and a sync ran in each of them. */
    async function nearlyOver(): Promise<World> {
      const world = await aSyncedWorld(settings);
      keep(world, "a", "b", "c");
      for (let hour = 0; hour < 24; hour++) expect(await later(world, 1)).toBe(0);
      return world;
    }

    it("begins anew, and says so", async () => {
      const world = await nearlyOver();
      await world.time.sleep(3 * HOUR);
      const { events, report } = world.start({ settings });
      expect(await report).toMatchObject({ counts: { deleted: 0, missing: 1 } });
      expect(events).toContainEqual(
        expect.objectContaining({ kind: "warning", code: "GRACE_PERIOD_RESTARTED" }),
      );
      for (let hour = 0; hour < 23; hour++) expect(await later(world, 1)).toBe(0);
      expect(await later(world, 1)).toBe(1);
    });

    it("begins anew, even if the first sync dies at any moment or reads no valid row", async () => {
      const { report, instance } = (await nearlyOver()).start({ settings });
      await report;
      for (let diesAt = 0; diesAt < instance.passed.length; diesAt++) {
        const world = await nearlyOver();
        await world.time.sleep(3 * HOUR);
        expect(await world.start({ settings, diesAt }).report).toBe("died");
        await world.time.sleep(60_000);
        expect((await world.sync({ settings })).counts.deleted).toBe(0);
        expect(await later(world, 1)).toBe(0);
      }
      const world = await nearlyOver();
      await world.time.sleep(3 * HOUR);
      world.tenants = [];
      await world.sync({ settings });
      keep(world, "a", "b", "c");
      expect((await world.sync({ settings })).counts.deleted).toBe(0);
      expect(await later(world, 1)).toBe(0);
    });
  });

  it("doesn't count the time between two good reads if a run died in between", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    await later(world, 1);
    await world.time.sleep(12 * HOUR);
    const { report, instance } = world.start({
      settings,
      at: ({ call }) => {
        if (call === "openSource") instance.kill();
      },
    });
    expect(await report).toBe("died");
    // A dead process doesn't renew its lease, so wait until it ends.
    await world.time.sleep(60_000);
    expect(await later(world, 12)).toBe(0);
    expect(await later(world, 23)).toBe(0);
    expect(await later(world, 1)).toBe(1);
  });

  it("ends in time even if the run that first missed the tenant died, and no run had read for long before", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(settings);
      keep(world, "a", "b", "c");
      await world.time.sleep(100 * HOUR);
      end = await world.start({ settings, diesAt }).report;
      await world.sync({ settings });
      await later(world, 24);
      expect({ diesAt, groups: groups(world) }).toEqual({ diesAt, groups: ["a", "b", "c"] });
    }
  });
});

it.each<[string, (world: World) => void, { only?: ReadonlySet<string> }]>([
  ["the next run syncs only another tenant", () => {}, { only: new Set(["a"]) }],
  ["its row is rejected now", (world) => change(world, "b", { name: null }), {}],
])(
  "a removal that an earlier run began counts against the limit even if %s",
  async (_, meanwhile, options) => {
    const settings = { ...deletion({ limit: { count: 1, percent: 0 } }), update: "replace" } as const;
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(settings);
      const before = world.service.tokens;
      change(world, "b", { plan: "new" });
      end = await world.start({ settings, diesAt }).report;
      meanwhile(world);
      change(world, "a", { plan: "new" });
      await world.sync({ settings, ...options });
      const replaced = [...before].filter(([id, token]) => world.service.tokens.get(id) !== token);
      expect({ diesAt, isWithinLimit: replaced.length <= 1 }).toEqual({ diesAt, isWithinLimit: true });
    }
  },
);

describe("removals that exceed the limit", () => {
  const settings = { ...deletion({ limit: { count: 1, percent: 10 } }), update: "replace" } as const;

  it("are counted together with a removal whose run died before recording it", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    const die = ({ when, call }: Point): Promise<void> | undefined =>
      when === "after" && call === "remove" ? new Promise(() => {}) : undefined;
    const { instance } = world.start({ settings, at: die });
    await world.time.sleep(60_000);
    instance.kill();
    expect(world.service.groups.has("d")).toBe(false);
    keep(world, "a", "b", "c", "d");
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
    keep(world, "a", "b", "d");
    expect(await world.sync({ settings })).toMatchObject({
      outcome: "held",
      counts: { deleted: 0, held: 1 },
    });
  });

  it("are counted together with a removal that began and waits for its next try", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    // The service has deleted the group; the rest of its removal stays under way.
    world.store.notRemovable.add("d");
    for (let times = 0; times < 3; times++) await world.sync({ settings });
    world.service.requests.length = 0;
    keep(world, "a", "b");
    expect(await world.sync({ settings })).toMatchObject({ counts: { failed: 1, held: 1 }, requests: 0 });
  });
});

describe("a read that must not delete:", () => {
  it.each(["flagged", "never"] as const)(
    "a source without a valid row doesn't end in sync with deletion.when: %s",
    async (when) => {
      const settings = deletion({ when });
      const world = await aSyncedWorld(settings);
      keep(world);
      const report = await world.sync({ settings });
      expect(report).toMatchObject({ outcome: "held", counts: { missing: 4, held: 0 }, requests: 0 });
      expect(report.hold).toMatchObject({
        code: "SOURCE_INCONCLUSIVE",
        message: expect.stringContaining("4 groups"),
      });
      expect(world.ledger.runs[0]?.result).toMatchObject({
        outcome: "held",
        error: { code: "SOURCE_INCONCLUSIVE" },
      });
      keep(world, ...IDS);
      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { missing: 0 } });
    },
  );

  it("a source that replaces another one in the config deletes no group without approval", async () => {
    const world = await aSyncedWorld();
    const elsewhere = { source: "another table" };
    world.tenants = tenants("d", "x");
    const report = await world.sync({ settings: elsewhere });
    expect(report).toMatchObject({ outcome: "held", counts: { held: 3, created: 1, unchanged: 1 } });
    expect(report.hold?.message).toContain("another source");
    // The source counts as another one in the second sync as well.
    expect(await world.sync({ settings: elsewhere })).toMatchObject({ outcome: "held", counts: { held: 3 } });
    // Either the old source or an approval ends this.
    keep(world, ...IDS);
    const back = await world.sync();
    expect(back).toMatchObject({ outcome: "held", counts: { held: 1, unchanged: 4 } });
    const approval = back.hold?.approval ?? "";
    expect(await world.sync({ approval })).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(groups(world)).toEqual(IDS);
  });
});
