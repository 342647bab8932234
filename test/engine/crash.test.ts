import { describe, expect, it } from "vitest";
import { tenants, World } from "../fakes/world.ts";

const IDS = ["a", "b", "c", "d", "e", "f", "g"];

interface Circumstances {
  readonly existing: "keep" | "update";
  readonly sharesLedger: boolean;
  readonly concurrency: number;
}

const aWorld = ({ existing, sharesLedger }: Circumstances): World => {
  const world = new World(tenants(...IDS));
  world.service.existing = existing;
  world.store.sharesLedger = sharesLedger;
  return world;
};

const confirmedIn = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, row]) =>
    row.fingerprint !== null && row.intent === null ? [id] : [],
  );

describe("a first sync that dies at any moment is made good by the next one:", () => {
  it.each<Circumstances>([
    { existing: "keep", sharesLedger: false, concurrency: 1 },
    { existing: "keep", sharesLedger: true, concurrency: 3 },
    { existing: "update", sharesLedger: false, concurrency: 3 },
  ])("$existing, one database: $sharesLedger, $concurrency at once", async (circumstances) => {
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
      // What was made is known of: recorded, or under way.
      for (const id of world.service.groups.keys()) expect(world.ledger.rows.has(id)).toBe(true);
      const before = world.service.requests.length;

      const report = await world.sync({ settings });
      const moment = { diesAt, made, confirmed };
      expect({ ...moment, outcome: report.outcome }).toEqual({ ...moment, outcome: "ok" });
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect([...world.service.groups.keys()].sort()).toEqual(IDS);
      const again = world.service.requests.slice(before).map(({ id }) => id);
      expect(again.sort()).toEqual(IDS.filter((id) => !confirmed.includes(id)));

      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", requests: 0 });
    }
  });
});

it("a group that may have been there before a crash is not taken for one with the right mapping", async () => {
  const old = { user_group_id: "a", name: "Name of a", mapping: { "40": "another" }, properties: {} };
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = new World(tenants("a"));
    world.service.put(old);
    end = await world.start({ diesAt }).report;
    const { counts } = await world.sync();
    expect(counts.unverified + counts.unchanged).toBe(1);
    expect(world.ledger.rows.get("a")?.unverified).toBe("adopted");
  }
});

it("what was not recorded at a crash is no more than what was in flight and eight times as much", async () => {
  const concurrency = 2;
  const many = Array.from({ length: 200 }, (_, n) => `tenant-${String(n).padStart(3, "0")}`);
  let most = 0;
  const world = new World(tenants(...many));
  // A database that takes its time, and a service that doesn't.
  const at = async ({ call }: { call: string }): Promise<void> => {
    if (call === "commit") await world.time.sleep(1_000);
    most = Math.max(most, world.service.groups.size - confirmedIn(world).length);
  };
  await world.sync({ settings: { concurrency }, at });
  expect(most).toBeGreaterThan(concurrency);
  expect(most).toBeLessThanOrEqual(8 * concurrency + concurrency);
});
