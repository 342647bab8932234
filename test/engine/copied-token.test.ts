import { expect, it } from "vitest";
import type { SyncSettings } from "../../src/engine/sync.ts";
import { tenants, World } from "../fakes/world.ts";

const REPLACING: Partial<SyncSettings> = { update: "replace" };

it.each<["delete" | "replace"]>([["delete"], ["replace"]])(
  "a stored token that is another group's is never sent to %s, for the service may go by it alone",
  async (action) => {
    const world = new World(tenants("a", "b", "c"));
    world.service.deleteBy = "token";
    await world.sync({ settings: REPLACING });
    const other = world.service.tokens.get("c");
    // A row was copied with all its columns, or restored from a backup.
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
