import { describe, expect, it } from "vitest";
import { tenants, World } from "../../fakes/world.ts";

it.each(["name", "plan"])(
  "a creation that an earlier run did not confirm is not taken for one with another %s",
  async (field) => {
    const another = { ...tenants("a")[0], [field]: "another" };
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = new World(tenants("z"));
      await world.sync();
      // This sync shows that the service keeps existing groups as they are.
      world.tenants = [{ ...tenants("z")[0], name: "another" }];
      await world.sync();
      world.tenants = [...tenants("a"), ...world.tenants];
      end = await world.start({ diesAt }).report;

      world.tenants = world.tenants.map((tenant) => (tenant.id === "a" ? another : tenant));
      for (let times = 0; times < 2; times++) await world.sync({ settings: { update: "replace" } });
      const { name, properties } = world.service.groups.get("a")?.group ?? {};
      const wanted = { name: another.name, properties: { plan: another.plan } };
      expect({ diesAt, name, properties }).toEqual({ diesAt, ...wanted });
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  },
);

it("a group that was gone and is created under another name doesn't show that the service updates groups", async () => {
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = new World(tenants("a"));
    await world.sync();
    // Another program deletes the group.
    world.service.groups.delete("a");
    world.tenants = [{ ...tenants("a")[0], name: "another" }];
    end = await world.start({ diesAt }).report;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect({ diesAt, updates: world.ledger.service.updates }).toEqual({ diesAt, updates: null });
  }
});

it("a group that may have existed before a crash is not taken for one with the right mapping", async () => {
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

describe("a group that somebody else has renamed", () => {
  const DAY = 86_400_000;
  const namedAs = (name: string) => [{ id: "a", name, plan: "gold" }];

  const rename = (world: World, name: string): void => {
    const held = world.service.groups.get("a");
    if (held) held.group = { ...held.group, name };
  };

  const GETS: Record<string, (world: World) => Promise<unknown>> = {
    "that settles a rotation": (world) => {
      const row = world.ledger.rows.get("a");
      if (row) world.ledger.rows.set("a", { ...row, intent: "rotate" });
      return world.sync();
    },
    "for a lost token": (world) => {
      world.store.tokens.clear();
      return world.sync({ verifyTokens: true });
    },
    "for an update that is taken back": async (world) => {
      world.tenants = namedAs("New");
      await world.sync();
      world.tenants = namedAs("Name of a");
    },
  };

  it.each(Object.keys(GETS))("is not forgotten after a GET %s", async (which) => {
    const world = new World(tenants("a"));
    await world.sync();
    rename(world, "the wrong name");
    await GETS[which]?.(world);
    for (let times = 0; times < 2; times++) {
      await world.time.sleep(DAY);
      const { errors, requests } = await world.sync();
      expect({ errors, requests }).toMatchObject({ errors: [{ code: "NOT_UPDATED" }], requests: 1 });
    }
    rename(world, "Name of a");
    await world.time.sleep(DAY);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 1 });
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });
});
