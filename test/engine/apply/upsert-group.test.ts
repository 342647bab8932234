import { expect, it } from "vitest";
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
