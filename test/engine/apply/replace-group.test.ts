import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import type { Point } from "../../fakes/instance.ts";
import { tenants, World } from "../../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];

async function aSyncedWorld(settings: Partial<SyncSettings> = {}): Promise<World> {
  const world = new World(tenants(...IDS));
  await world.sync({ settings });
  world.service.requests.length = 0;
  return world;
}

const rename = (world: World, ...ids: string[]): void => {
  world.tenants = world.tenants.map((tenant) =>
    ids.includes(String(tenant.id)) ? { ...tenant, name: `New name of ${tenant.id}` } : tenant,
  );
};

const requests = (world: World): string[] =>
  world.service.requests.map(({ operation, id }) => `${operation} ${id}`);

const groups = (world: World): string[] => [...world.service.groups.keys()].sort();

/** Fails this point, such as `before remove d`, the first `times` times. */
function failing(
  place: string,
  failure: SyncError,
  times = Number.POSITIVE_INFINITY,
): (point: Point) => void {
  let failed = 0;
  return ({ when, call, id }) => {
    if (`${when} ${call} ${id}` === place && failed++ < times) throw failure;
  };
}

describe("a replacement", () => {
  const settings = { update: "replace" } as const;

  it.each<["token" | "id" | "both"]>([["token"], ["id"], ["both"]])(
    "gives the new state to a service that deletes by %s, and the new token to the application",
    async (deleteBy) => {
      const world = await aSyncedWorld(settings);
      world.service.deleteBy = deleteBy;
      rename(world, "a", "b", "c", "d");
      const before = world.service.tokens;
      world.service.groups.delete("b");
      const rotated = world.service.groups.get("c");
      if (rotated) rotated.token = "another";
      world.store.tokens.delete("d");
      const report = await world.sync({ settings });
      expect(report).toMatchObject({ outcome: "ok", counts: { replaced: 4, updated: 0, unverified: 0 } });
      for (const [id, { group, token }] of world.service.groups) {
        expect(group.name).toBe(`New name of ${id}`);
        expect(token).not.toBe(before.get(id));
      }
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(await world.sync({ settings })).toMatchObject({ counts: { unchanged: 4 }, requests: 0 });
    },
  );

  it("takes two requests once an answer has shown the team", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a", "b");
    await world.sync({ settings: { ...settings, concurrency: 1 } });
    expect(requests(world)).toEqual(["GET a", "DELETE a", "GET a", "DELETE b", "GET b"]);
  });

  it("of a group that is gone is done by the GET that creates it again", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a", "b");
    world.service.groups.delete("b");
    const report = await world.sync({ settings: { ...settings, concurrency: 1 } });
    expect(report).toMatchObject({ outcome: "ok", counts: { replaced: 2 } });
    expect(requests(world)).toEqual(["GET a", "DELETE a", "GET a", "DELETE b", "GET b"]);
  });

  it.each(["TIMEOUT", "BAD_RESPONSE"] as const)(
    "whose DELETE was answered with %s is finished, because the group may be gone",
    async (code) => {
      for (const [ids, removals] of [
        [["a"], { replaced: 1 }],
        [["a", "b"], { replaced: 2 }],
      ] as const) {
        const world = await aSyncedWorld(settings);
        rename(world, ...ids);
        const last = ids.at(-1);
        const at = ({ when, call, id }: Point): void => {
          if (when === "after" && call === "remove" && id === last)
            throw new ServiceFailure(code, "no answer");
        };
        const report = await world.sync({ settings: { ...settings, concurrency: 1 }, at });
        expect(report).toMatchObject({ outcome: "ok", counts: removals });
        expect(groups(world)).toEqual(IDS);
        expect(world.store.tokens).toEqual(world.service.tokens);
      }
    },
  );

  it("is finished even if the run is told to stop while its DELETE may have been carried out", async () => {
    for (const ids of [["a"], ["a", "b"]]) {
      const world = await aSyncedWorld(settings);
      rename(world, ...ids);
      const last = ids.at(-1);
      const stop = new AbortController();
      const at = ({ when, call, id }: Point): void => {
        if (when !== "after" || call !== "remove" || id !== last) return;
        stop.abort();
        throw new ServiceFailure("TIMEOUT", "no answer");
      };
      await world.sync({ settings: { ...settings, concurrency: 1 }, at, signal: stop.signal });
      expect(groups(world)).toEqual(IDS);
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  });

  it("fails if its DELETE was not carried out, and is retried later", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a");
    const report = await world.sync({
      settings,
      at: failing("before remove a", new ServiceFailure("BAD_RESPONSE", "HTML")),
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "BAD_RESPONSE" }]);
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
  });

  it("is not done if the service returns a group as new with its old token", async () => {
    const world = await aSyncedWorld(settings);
    world.service.saysNew = true;
    rename(world, "a", "b");
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 2 } });
    expect(world.service.groups.get("a")?.group.name).toBe("New name of a");
    expect(world.service.groups.get("b")?.group.name).toBe("New name of b");
    // An update isn't done either.
    rename(world, "c");
    expect((await world.sync()).errors).toMatchObject([{ user_group_id: "c", code: "NOT_UPDATED" }]);
  });

  it("fails if the service only claims to have deleted the group; the live token is stored", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a");
    world.service.deletes = false;
    const report = await world.sync({ settings });
    expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "NOT_REPLACED" }]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("replaces an update that the service did not apply", async () => {
    const world = await aSyncedWorld();
    rename(world, "a");
    for (let times = 0; times < 5; times++) {
      expect((await world.sync()).errors).toMatchObject([{ code: "NOT_UPDATED" }]);
    }
    // The next try of its update is hours away.
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
    expect(world.service.groups.get("a")?.group.name).toBe("New name of a");
  });
});
