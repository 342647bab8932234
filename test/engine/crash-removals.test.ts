import { describe, expect, it } from "vitest";
import type { SyncSettings } from "../../src/engine/sync.ts";
import { aGroup } from "../builders/groups.ts";
import { tenants, World } from "../fakes/world.ts";

interface Circumstances {
  readonly deleteBy: "token" | "id" | "both";
  readonly existing: "keep" | "update";
  readonly sharesLedger: boolean;
  readonly concurrency: number;
}

const settingsOf = ({ concurrency }: Circumstances): Partial<SyncSettings> => ({
  concurrency,
  update: "replace",
});

/** In sync with a to e; since then b and c are gone, d and e have other names, and f is new. */
async function aChangedWorld(circumstances: Circumstances): Promise<World> {
  const world = new World(tenants("a", "b", "c", "d", "e"));
  world.service.deleteBy = circumstances.deleteBy;
  world.service.existing = circumstances.existing;
  world.store.sharesLedger = circumstances.sharesLedger;
  await world.sync({ settings: settingsOf(circumstances) });
  world.tenants = [
    ...tenants("a", "f"),
    ...tenants("d", "e").map((tenant) => ({ ...tenant, name: `New name of ${tenant.id}` })),
  ];
  return world;
}

function expectInSync(world: World, moment: object): void {
  const wanted = world.tenants.map(({ id, name }) => [id, name]).sort();
  const held = [...world.service.groups].map(([id, { group }]) => [id, group.name]).sort();
  expect({ ...moment, held }).toEqual({ ...moment, held: wanted });
  expect(world.store.tokens).toEqual(world.service.tokens);
  expect([...world.ledger.rows.keys()].sort()).toEqual(wanted.map(([id]) => id));
}

const ALL: Circumstances[] = [
  { deleteBy: "token", existing: "keep", sharesLedger: false, concurrency: 1 },
  { deleteBy: "id", existing: "keep", sharesLedger: true, concurrency: 3 },
  { deleteBy: "both", existing: "update", sharesLedger: false, concurrency: 3 },
];

describe("a sync that deletes and replaces and dies at any moment is made good by the next one:", () => {
  it.each(ALL)(
    "$deleteBy, $existing, one database: $sharesLedger, $concurrency at once",
    async (circumstances) => {
      const settings = settingsOf(circumstances);
      const unharmed = (await aChangedWorld(circumstances)).start({ settings });
      expect(await unharmed.report).toMatchObject({ counts: { created: 1, deleted: 2, replaced: 2 } });
      const moments = unharmed.instance.passed.length;
      expect(moments).toBeGreaterThan(30);

      for (let diesAt = 0; diesAt < moments; diesAt++) {
        const world = await aChangedWorld(circumstances);
        expect(await world.start({ settings, diesAt }).report).toBe("died");
        // Whatever the ledger says is at rest has its live token stored.
        for (const [id, row] of world.ledger.rows) {
          if (row.intent === null && row.fingerprint !== null) {
            expect(world.store.tokens.get(id)).toBe(world.service.tokens.get(id));
          }
        }
        // What there is in the service, the ledger knows of.
        for (const id of world.service.groups.keys()) expect([...world.ledger.rows.keys()]).toContain(id);

        const report = await world.sync({ settings });
        expect({ diesAt, outcome: report.outcome }).toEqual({ diesAt, outcome: "ok" });
        expectInSync(world, { diesAt });
        expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", requests: 0 });
      }
    },
  );

  it.each(ALL)("also where everybody is back by then: $deleteBy, $existing", async (circumstances) => {
    const settings = settingsOf(circumstances);
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aChangedWorld(circumstances);
      end = await world.start({ settings, diesAt }).report;
      world.tenants = [...world.tenants, ...tenants("b", "c")];
      const report = await world.sync({ settings });
      expect({ diesAt, outcome: report.outcome }).toEqual({ diesAt, outcome: "ok" });
      expectInSync(world, { diesAt });
    }
  });

  it.each(ALL)(
    "also where nothing more may be removed by then: $deleteBy, $existing",
    async (circumstances) => {
      const settings = settingsOf(circumstances);
      const closed = {
        ...settings,
        deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 0, percent: 0 } },
      } as const;
      for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
        const world = await aChangedWorld(circumstances);
        end = await world.start({ settings, diesAt }).report;
        const report = await world.sync({ settings: closed });
        // Every tenant has a group with its token, and what was begun is done: nothing is half deleted.
        for (const { id } of world.tenants) expect([...world.service.groups.keys()]).toContain(id);
        expect(world.store.tokens).toEqual(world.service.tokens);
        for (const row of world.ledger.rows.values()) expect(row.intent).toBeNull();
        const approval = report.hold?.approval ?? undefined;
        expect(await world.sync({ settings: closed, approval })).toMatchObject({ outcome: "ok" });
        expectInSync(world, { diesAt });
      }
    },
  );
});

it("a group that was made for its deletion alone is never a tenant's that is back", async () => {
  const back = [...tenants("a"), { id: "b", name: "b", plan: "gold" }];
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = new World(tenants("a"));
    await world.sync();
    // Somebody else's until now, and never confirmed; then gone, so that a GET makes it again.
    world.service.put(aGroup({ user_group_id: "b", name: "Another" }));
    world.tenants = back;
    await world.sync();
    world.service.groups.delete("b");
    world.tenants = tenants("a");
    end = await world.start({ diesAt }).report;

    world.tenants = back;
    const report = await world.sync();
    const { properties } = world.service.groups.get("b")?.group ?? {};
    expect({ diesAt, outcome: report.outcome, properties }).toEqual({
      diesAt,
      outcome: "ok",
      properties: { plan: "gold" },
    });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.service.updates).toBe(false);
  }
});
