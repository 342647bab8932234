import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { aGroup } from "../../builders/groups.ts";
import type { Point } from "../../fakes/instance.ts";
import { syncSettings, tenants, World } from "../../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];

async function aSyncedWorld(settings: Partial<SyncSettings> = {}): Promise<World> {
  const world = new World(tenants(...IDS));
  await world.sync({ settings });
  world.service.requests.length = 0;
  return world;
}

const keep = (world: World, ...ids: string[]): void => {
  world.tenants = tenants(...ids);
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

/** Expects that service, token store and ledger have nothing of these groups. */
function expectGone(world: World, ...ids: string[]): void {
  for (const id of ids) {
    expect(groups(world)).not.toContain(id);
    expect([...world.store.tokens.keys()]).not.toContain(id);
    expect([...world.ledger.rows.keys()]).not.toContain(id);
  }
}

const REPLACING: Partial<SyncSettings> = { update: "replace" };

describe("a deletion", () => {
  it.each<["token" | "id" | "both"]>([["token"], ["id"], ["both"]])(
    "works with a service that deletes by %s if the group is gone, another program rotated the token, or the token is lost",
    async (deleteBy) => {
      const world = await aSyncedWorld();
      world.service.deleteBy = deleteBy;
      world.service.groups.delete("b");
      const rotated = world.service.groups.get("c");
      if (rotated) rotated.token = "another";
      world.store.tokens.delete("d");
      keep(world, "a");
      expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
      expectGone(world, "b", "c", "d");
    },
  );

  it("uses the live token if the service answers 403 to the stored one", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const refusal = new ServiceFailure("KEY_REFUSED", "DELETE was answered HTTP 403");
    const at = failing("before remove c", refusal, 1);
    const report = await world.sync({ at, settings: { concurrency: 1 } });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
  });

  it("never happens in another team, which may have a group with the same id", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    world.service.deleteBy = "id";
    const ours = groups(world);
    world.service.teamId = 8;
    world.service.put(aGroup({ user_group_id: "b" }));
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TEAM_CHANGED" } });
    expect(groups(world)).toEqual(["b"]);
    world.service.teamId = 7;
    expect(groups(world)).toEqual(ours);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
  });

  it("is left to the next sync of all tenants by --only, even if it is under way", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    const only = new Set(["d"]);
    const left = {
      outcome: "ok",
      requests: 0,
      counts: { deleted: 0, missing: 1 },
      errors: [{ user_group_id: "d", code: "TENANT_GONE", message: expect.stringContaining("next sync") }],
    };
    expect(await world.sync({ only })).toMatchObject(left);
    expect(world.ledger.rows.get("d")?.absence).toBeNull();
    const at = ({ when, call }: Point): void => {
      if (when === "before" && call === "remove") throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
    };
    await world.sync({ at });
    expect(world.ledger.rows.get("d")?.intent).toBe("delete");
    expect(await world.sync({ only })).toMatchObject(left);
    expect(groups(world)).toEqual(IDS);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
  });

  it("is not repeated if the store refuses to remove the token", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    world.store.notRemovable.add("d");
    const partial = { outcome: "partial", counts: { failed: 1, deleted: 0 } };
    expect(await world.sync()).toMatchObject(partial);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ ...partial, errors: [{ code: "TOKEN_NOT_REMOVED" }] });
    world.store.notRemovable.clear();
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(requests(world)).toEqual([]);
    expectGone(world, "d");
    expect(world.ledger.removals).toHaveLength(1);
  });

  it("whose token can't be removed is given up if the tenant comes back", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    world.store.notRemovable.add("d");
    await world.sync();
    keep(world, ...IDS);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([
    { back: "as it was", row: tenants("d"), end: { outcome: "ok", counts: { replaced: 1 } } },
    {
      back: "under another name",
      row: tenants("d").map((tenant) => ({ ...tenant, name: "another" })),
      end: { outcome: "partial", errors: [{ code: "NOT_UPDATED" }] },
    },
  ])(
    "that was done counts against the limit, even if only the group's other token shows it: its tenant is back $back",
    async ({ row, end }) => {
      const world = await aSyncedWorld();
      // A new group shows the team, so that the DELETE comes first. It takes effect, and so does the GET that asks for the token then: it
      // creates the group again.
      keep(world, "a", "b", "c", "e");
      const lost = new ServiceFailure("TIMEOUT", "no answer");
      const at = ({ when, call, id }: Point): void => {
        if (when === "after" && id === "d" && (call === "remove" || call === "getOrCreate")) throw lost;
      };
      expect(await world.sync({ at })).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
      expect(requests(world)).toContain("DELETE d");
      world.tenants = [...tenants("a", "b", "c", "e"), ...row];
      expect(await world.sync()).toMatchObject(end);
      expect(world.ledger.removals).toHaveLength(1);
      world.tenants = [...tenants("b", "c", "e"), ...row];
      const settings = syncSettings({
        deletion: { ...syncSettings().deletion, limit: { count: 1, percent: 0 } },
      });
      expect(await world.sync({ settings })).toMatchObject({
        outcome: "held",
        counts: { held: 1, deleted: 0 },
      });
    },
  );

  it("is recorded even if the token store fails before the token is removed", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const away = new SyncError("TOKEN_STORE_UNAVAILABLE", "it is away");
    const at = ({ when, call }: Point): void => {
      if (when === "before" && call === "removeTokens") throw away;
    };
    expect(await world.sync({ at })).toMatchObject({ outcome: "failed", error: { code: away.code } });
    const deleted = IDS.length - groups(world).length;
    expect(deleted).toBeGreaterThan(1);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
    expect(requests(world).filter((request) => request.startsWith("GET"))).toEqual([]);
    expectGone(world, "b", "c", "d");
  });
});

it.each<["delete" | "replace"]>([["delete"], ["replace"]])(
  "a stored token of another group is never sent to %s, because the service may look at the token alone",
  async (action) => {
    const world = new World(tenants("a", "b", "c"));
    world.service.deleteBy = "token";
    await world.sync({ settings: REPLACING });
    const other = world.service.tokens.get("c");
    // For example, a row was copied with all its columns, or restored from a backup.
    for (const id of ["a", "b"]) world.store.tokens.set(id, other ?? "");

    world.tenants =
      action === "delete"
        ? tenants("c")
        : world.tenants.map((tenant) => (tenant.id === "c" ? tenant : { ...tenant, name: "New name" }));
    expect(await world.sync({ settings: REPLACING })).toMatchObject({ outcome: "ok" });
    expect([...world.service.groups.keys()].sort()).toEqual(action === "delete" ? ["c"] : ["a", "b", "c"]);
    expect(world.service.tokens.get("c")).toBe(other);
    expect(world.store.tokens).toEqual(world.service.tokens);
  },
);
