import { describe, expect, it } from "vitest";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import type { Point } from "../../fakes/instance.ts";
import type { TenantRecord } from "../../fakes/tenant-source.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";
import { aSession } from "../serving/a-session.ts";

const HOUR = 3_600_000;

const settings: Partial<SyncSettings> = {
  update: "replace",
  deletion: { when: "absent", gracePeriodMs: 24 * HOUR, limit: { count: 1, percent: 0 } },
};

const IDS = ["a", "b", "c", "d"];

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

it("an approval uses its code up: the same removals have another code later", async () => {
  const nothing = deletion({ limit: { count: 0, percent: 0 } });
  const world = await aSyncedWorld(IDS);
  const syncWithoutD = async (approval?: string) => {
    keep(world, "a", "b", "c");
    return await world.sync({ settings: nothing, approval });
  };
  const approval = (await syncWithoutD()).hold?.approval ?? "";
  expect(await syncWithoutD(approval)).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
  keep(world, ...IDS);
  await world.sync({ settings: nothing });
  const again = await syncWithoutD(approval);
  expect(again).toMatchObject({ outcome: "held", counts: { deleted: 0 } });
  expect(again.errors.map(({ code }) => code)).toEqual(["APPROVAL_MISMATCH", "DELETIONS_HELD"]);
});

it("a tenant that is gone is reported once, by the sync that notices it", async () => {
  const world = await aSyncedWorld(IDS);
  keep(world, "a", "b", "c");
  const settings = deletion({ when: "never" });
  const first = world.start({ settings });
  await first.report;
  expect(first.events).toContainEqual({ kind: "left", user_group_id: "d", absence: "absent" });
  const again = world.start({ settings });
  await again.report;
  expect(again.events).not.toContainEqual(expect.objectContaining({ kind: "left" }));
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
    const world = await aSyncedWorld(["a", "b"]);
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

it("a lookup of one tenant keeps what is remembered of it right", async () => {
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
      const world = await aSyncedWorld(IDS, settings);
      keep(world, "a", "b", "c");
      for (let hour = 0; hour < 24; hour++) expect(await later(world, 1)).toBe(0);
      return world;
    }

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
    const world = await aSyncedWorld(IDS, settings);
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
      const world = await aSyncedWorld(IDS, settings);
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
      const world = await aSyncedWorld(IDS, settings);
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

it("the removals that are held now are marked, and no others", async () => {
  const settings = deletion({ limit: { count: 0, percent: 0 } });
  const ids = ["a", "b", "c", "d", "e", "é", "😀"];
  const world = await aSyncedWorld(ids);
  for (const gone of [["a", "b", "d", "😀"], ["b", "c", "é"], ["e"], []]) {
    keep(world, ...ids.filter((id) => !gone.includes(id)));
    const { instance, report } = world.start({ settings });
    await report;
    const marked = [...world.ledger.rows].flatMap(([id, { held }]) => (held ? [id] : []));
    expect(marked).toEqual(gone);
    // A read waits for a connection for ever if open transactions have them all.
    const reads = instance.passed.filter(({ call }) => /^(openTransaction|candidates|commit)$/.test(call));
    for (const [n, { call }] of reads.entries())
      if (call === "candidates") expect(reads[n - 1]?.call).not.toBe("openTransaction");
  }
});

describe("removals that exceed the limit", () => {
  const settings = { ...deletion({ limit: { count: 1, percent: 10 } }), update: "replace" } as const;

  it("are counted together with a removal whose run died before recording it", async () => {
    const world = await aSyncedWorld(IDS, settings);
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
    const world = await aSyncedWorld(IDS, settings);
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
      const world = await aSyncedWorld(IDS, settings);
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
    const world = await aSyncedWorld(IDS);
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
