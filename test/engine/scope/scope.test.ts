import { expect, test } from "vitest";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";

test("a new scope whose key is that of another scope is refused at the first answer, and stores nothing", async () => {
  const world = new World(tenants("a", "b", "c"));
  world.ledger.sharedGroups = [{ scope: "production", count: 3, first: "a" }];
  world.service.put({ user_group_id: "a", name: "Name of a", mapping: {}, properties: {} });
  const report = await world.sync();
  expect(report.error).toMatchObject({
    code: "CONFIG_SCOPE_SHARED",
    message: expect.stringMatching(
      /3 groups of this scope, such as "a", belong to the scope "production".*team 7/,
    ),
    hint: expect.stringMatching(/service\.api_key of another team.*groupsync forget production/),
  });
  expect(world.service.requests.map(({ operation }) => operation)).toEqual(["GET"]);
  expect({ tokens: world.store.tokens.size, rows: world.ledger.rows.size }).toEqual({ tokens: 0, rows: 0 });
});

test("a group that the first call of such a scope has made is taken back", async () => {
  const world = new World(tenants("a", "b"));
  world.ledger.sharedGroups = [{ scope: "production", count: 1, first: "a" }];
  const report = await world.sync();
  expect(report.error).toMatchObject({ message: expect.stringContaining("1 group of this scope") });
  expect(world.service.groups.size).toBe(0);
});

test("a scope that the service has answered before goes on", async () => {
  const world = await aSyncedWorld(["a"]);
  world.ledger.sharedGroups = [{ scope: "production", count: 1, first: "a" }];
  world.tenants = tenants("a", "b");
  expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1 } });
});
