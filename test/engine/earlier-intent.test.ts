import { expect, it } from "vitest";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import type { Point } from "../fakes/instance.ts";
import { tenants, World } from "../fakes/world.ts";

/** A call of an earlier run of which nobody knows what became, and the change that comes after it. */
interface Case {
  readonly began: string;
  readonly before: (world: World) => void;
  readonly after: (world: World) => void;
}

const CASES: Case[] = [
  {
    began: "a delete, and the tenant is back",
    before: (world) => {
      world.tenants = tenants("a");
    },
    after: (world) => {
      world.tenants = tenants("a", "b");
    },
  },
  {
    began: "an update, and the row is as it was",
    before: (world) => {
      world.service.existing = "update";
      world.tenants = [...tenants("a"), { ...tenants("b")[0], name: "New name" }];
    },
    after: (world) => {
      world.tenants = tenants("a", "b");
    },
  },
  {
    began: "a creation, and the tenant is gone",
    before: (world) => {
      world.service.groups.delete("b");
      world.ledger.rows.delete("b");
      world.store.tokens.delete("b");
    },
    after: (world) => {
      world.tenants = tenants("a");
    },
  },
];

it.each(CASES)("a refusal says nothing of what was sent before it: $began", async ({ before, after }) => {
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = new World(tenants("a", "b"));
    await world.sync();
    before(world);
    end = await world.start({ diesAt }).report;
    after(world);
    const refuse = ({ when, call, id }: Point): void => {
      if (when !== "before" || id !== "b") return;
      if (call === "getOrCreate" || call === "remove") throw new ServiceFailure("REFUSED", "no");
    };
    await world.sync({ at: refuse });
    await world.time.sleep(3_600_000);
    const report = await world.sync();

    const wanted = world.tenants.map(({ id, name }) => [id, name]);
    const groups = [...world.service.groups].map(([id, { group }]) => [id, group.name]).sort();
    expect({ diesAt, outcome: report.outcome, groups }).toEqual({ diesAt, outcome: "ok", groups: wanted });
    expect(world.store.tokens).toEqual(world.service.tokens);
  }
});

it.each(["name", "plan"])(
  "a creation of which nobody knows what became is not taken for one with another %s",
  async (field) => {
    const another = { ...tenants("a")[0], [field]: "another" };
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = new World(tenants("z"));
      await world.sync();
      // Shows that this service keeps what exists.
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

it("a group that was gone and is made anew under another name shows nothing of the service", async () => {
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = new World(tenants("a"));
    await world.sync();
    // By somebody else.
    world.service.groups.delete("a");
    world.tenants = [{ ...tenants("a")[0], name: "another" }];
    end = await world.start({ diesAt }).report;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect({ diesAt, updates: world.ledger.service.updates }).toEqual({ diesAt, updates: null });
  }
});
