import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { failing } from "../../fakes/instance.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";
import { someOf } from "../../support/long.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `t${String(n).padStart(2, "0")}`);

const settings = { concurrency: 3 };

const service = (code: ServiceFailureCode) => () => new ServiceFailure(code, code);

describe("a server that is not the service", () => {
  it("delays no group for long once service.base_url is corrected", async () => {
    const world = new World(tenants("a", "b", "c"));
    const at = failing("before", "getOrCreate", service("BAD_RESPONSE"));
    for (let run = 0; run < 12; run++) {
      expect(await world.sync({ at })).toMatchObject({ outcome: "partial", counts: { failed: 3 } });
      await world.time.sleep(6 * 3_600_000);
    }
    await world.sync({ at });
    await world.time.sleep(10 * 60_000);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 3 } });
  });

  it("is not suspected in a later run whose groups the service refuses", async () => {
    const world = await aSyncedWorld(["a"]);
    world.tenants.push(...tenants(...IDS));
    const report = await world.sync({
      settings,
      at: failing("before", "getOrCreate", service("REFUSED"), { times: 29 }),
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 1, failed: 29 } });
  });
});

const SEVEN = ["a", "b", "c", "d", "e", "f", "g"];

interface Circumstances {
  readonly existing: "keep" | "update";
  readonly sharesLedger: boolean;
  readonly concurrency: number;
}

const aWorld = ({ existing, sharesLedger }: Circumstances, ids = SEVEN): World => {
  const world = new World(tenants(...ids));
  world.service.existing = existing;
  world.store.sharesLedger = sharesLedger;
  return world;
};

const confirmedIn = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, row]) =>
    row.fingerprint !== null && row.intent === null ? [id] : [],
  );

interface RemovalCircumstances extends Circumstances {
  readonly deleteBy: "token" | "id" | "both";
}

const settingsOf = ({ concurrency }: RemovalCircumstances): Partial<SyncSettings> => ({
  concurrency,
  update: "replace",
});

/** In sync with a to e; since then b and c are gone, d and e have other names, and f is new. */
async function aChangedWorld(circumstances: RemovalCircumstances): Promise<World> {
  const world = aWorld(circumstances, ["a", "b", "c", "d", "e"]);
  world.service.deleteBy = circumstances.deleteBy;
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

const ALL: RemovalCircumstances[] = [
  { deleteBy: "token", existing: "keep", sharesLedger: false, concurrency: 1 },
  { deleteBy: "id", existing: "keep", sharesLedger: true, concurrency: 3 },
  { deleteBy: "both", existing: "update", sharesLedger: false, concurrency: 3 },
];

describe("after a first sync that died at any moment, the next sync ends in sync:", () => {
  it.each<Circumstances>(
    someOf(
      [
        { existing: "keep", sharesLedger: true, concurrency: 3 },
        { existing: "update", sharesLedger: false, concurrency: 3 },
        { existing: "keep", sharesLedger: false, concurrency: 1 },
      ],
      2,
    ),
  )("$existing, one database: $sharesLedger, $concurrency at once", async (circumstances) => {
    const { concurrency } = circumstances;
    const settings = { concurrency };
    const unharmed = aWorld(circumstances).start({ settings });
    await unharmed.report;
    const moments = unharmed.instance.passed.length;
    expect(moments).toBeGreaterThan(30);

    for (let diesAt = 0; diesAt < moments; diesAt++) {
      const world = aWorld(circumstances);
      expect(await world.start({ settings, diesAt }).report).toBe("died");
      const made = world.service.groups.size;
      const confirmed = confirmedIn(world);
      for (const id of confirmed) expect(world.store.tokens.get(id)).toBe(world.service.tokens.get(id));
      // Each created group is in the ledger: recorded, or under way.
      for (const id of world.service.groups.keys()) expect(world.ledger.rows.has(id)).toBe(true);
      const before = world.service.requests.length;

      const report = await world.sync({ settings });
      const moment = { diesAt, made, confirmed };
      expect({ ...moment, outcome: report.outcome }).toEqual({ ...moment, outcome: "ok" });
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect([...world.service.groups.keys()].sort()).toEqual(SEVEN);
      const again = world.service.requests.slice(before).map(({ id }) => id);
      expect(again.sort()).toEqual(SEVEN.filter((id) => !confirmed.includes(id)));

      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", requests: 0 });
    }
  });
});

describe("after a sync that deleted and replaced and died at any moment, the next sync ends in sync:", () => {
  it.each(someOf(ALL, 2))(
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
        // Each group at rest in the ledger has its live token stored.
        for (const [id, row] of world.ledger.rows) {
          if (row.intent === null && row.fingerprint !== null) {
            expect(world.store.tokens.get(id)).toBe(world.service.tokens.get(id));
          }
        }
        // The ledger knows each group of the service.
        for (const id of world.service.groups.keys()) expect([...world.ledger.rows.keys()]).toContain(id);

        const report = await world.sync({ settings });
        expect({ diesAt, outcome: report.outcome }).toEqual({ diesAt, outcome: "ok" });
        expectInSync(world, { diesAt });
        expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", requests: 0 });
      }
    },
  );

  it.each(someOf(ALL))(
    "even if no further removal is allowed: $deleteBy, $existing",
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
        // Every tenant has a group with a stored token, and no removal is half done.
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
