import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { failing, type Point } from "../../fakes/instance.ts";
import { aSyncedWorld, tenants, type World } from "../../fakes/world.ts";

const service = (code: ServiceFailureCode) => () => new ServiceFailure(code, code);

/** A call of an earlier run whose result is unknown, and the change after it. */
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

describe("the team", () => {
  it("is remembered, and a group created in another team is removed there", async () => {
    const world = await aSyncedWorld(["a"]);
    const own = new Map(world.store.tokens);
    world.tenants.push(...tenants("b", "c"));
    world.service.teamId = 8;
    const before = world.service.requests.length;
    const report = await world.sync();
    expect(report).toMatchObject({ error: { code: "TEAM_CHANGED" }, requests: 2, counts: { created: 0 } });
    expect(world.service.requests.slice(before)).toEqual([
      { operation: "GET", id: "b" },
      { operation: "DELETE", id: "b" },
    ]);
    expect(world.service.groups.size).toBe(0);
    expect(world.store.tokens).toEqual(own);
    expect([...world.ledger.rows.keys()]).toEqual(["a"]);
  });

  it("may differ for a group that existed already: that group is left alone", async () => {
    const world = await aSyncedWorld(["a"]);
    world.service.teamId = 8;
    world.tenants.push(...tenants("b"));
    world.service.put({ user_group_id: "b", name: "Theirs", mapping: {}, properties: {} });
    expect(await world.sync()).toMatchObject({ error: { code: "TEAM_CHANGED" }, requests: 1 });
    expect(world.service.groups.has("b")).toBe(true);
  });

  it.each([
    ["the group's own", "a"],
    ["another group's", "b"],
  ])("may differ in an answer that calls a group new and has %s token: nothing is removed", async (_, id) => {
    const world = await aSyncedWorld(["a"]);
    const [held] = world.service.groups.values();
    world.service.teamId = 8;
    world.service.saysNew = true;
    if (held) world.service.groups.set(id, held);
    world.tenants = tenants(id);
    await world.time.sleep(1_000);
    expect(await world.sync({ refresh: true })).toMatchObject({
      error: { code: "TEAM_CHANGED" },
      requests: 1,
    });
  });

  it("mismatch names a group that could not be removed", async () => {
    const world = await aSyncedWorld(["a"]);
    world.service.teamId = 8;
    world.tenants.push(...tenants("b"));
    const { events, report } = world.start({ at: failing("before", "remove", service("TIMEOUT")) });
    expect(await report).toMatchObject({ error: { code: "TEAM_CHANGED" } });
    expect(events).toContainEqual(
      expect.objectContaining({ code: "GROUP_LEFT_BEHIND", message: expect.stringMatching(/b .*team 8/) }),
    );
  });

  it("mismatch names a group that a call with a lost answer may have created", async () => {
    const world = await aSyncedWorld(["a"]);
    world.service.teamId = 8;
    world.tenants.push(...tenants("b"));
    const lost = failing("after", "getOrCreate", service("CONNECTION_LOST"), { times: 1 });
    const { events, report } = world.start({ at: lost });
    expect(await report).toMatchObject({ error: { code: "TEAM_CHANGED" } });
    expect(events).toContainEqual(
      expect.objectContaining({ code: "GROUP_LEFT_BEHIND", message: expect.stringMatching(/b .*team 8/) }),
    );
    expect(world.service.groups.has("b")).toBe(true);
  });

  it("known for one address keeps calls from another address", async () => {
    const world = await aSyncedWorld(["a"]);
    world.tenants.push(...tenants("b"));
    const report = await world.sync({ settings: { baseUrl: "https://staging.example.com" } });
    expect(report).toMatchObject({ requests: 0, error: { code: "SERVICE_CHANGED" } });
  });
});

it.each(CASES)(
  "a refused call doesn't settle the call of an earlier run: $began",
  async ({ before, after }) => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(["a", "b"]);
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
  },
);
