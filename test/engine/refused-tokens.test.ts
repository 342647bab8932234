import { expect, test } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { tenants, World } from "../fakes/world.ts";

const ids = (many: number): string[] => Array.from({ length: many }, (_, n) => `t${n}`);

test("ten tokens that a store refuses alike, and none that it takes, are the store's fault", async () => {
  const world = new World(tenants(...ids(200)));
  for (const id of ids(200)) world.store.refused.add(id);
  const report = await world.sync();
  expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_UNAVAILABLE" } });
  expect(world.service.groups.size).toBeLessThan(50);
  // What was refused waits longer and longer, and ends no run of the others for good.
  world.tenants = [...world.tenants, ...tenants("new")];
  for (const id of ids(200).slice(10)) world.store.refused.delete(id);
  for (let sync = 0; sync < 4; sync++) await world.sync();
  expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { failed: 10 } });
  expect(world.store.tokens.size).toBe(191);
});

test("a store that takes a token is not at fault, however many it refuses", async () => {
  const world = new World(tenants(...ids(40)));
  for (const id of ids(40).slice(1)) world.store.refused.add(id);
  expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { created: 1, failed: 39 } });
});

test("fewer are those tenants' own", async () => {
  const world = new World(tenants(...ids(9)));
  for (const id of ids(9)) world.store.refused.add(id);
  expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { failed: 9 } });
  expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { failed: 9 } });
});

test.each([
  ["writeTokens", "TOKEN_NOT_STORED"],
  ["removeTokens", "TOKEN_NOT_REMOVED"],
])("a row over which %s loses the transaction costs its tenant alone", async (act, code) => {
  const world = new World(act === "removeTokens" ? tenants(...ids(20)) : []);
  await world.sync();
  world.tenants = act === "removeTokens" ? tenants("other") : tenants(...ids(20));
  world.store.breaks.add("t7");
  expect(await world.sync()).toMatchObject({
    outcome: "partial",
    counts: { failed: 1 },
    errors: [{ user_group_id: "t7", code }],
  });
  world.store.breaks.clear();
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
});

test("what was refused is told with the reason of the last one", async () => {
  const world = new World(tenants(...ids(20)));
  for (const id of ids(20)) world.store.refused.add(id);
  const report = await world.sync();
  expect(report.error).toBeInstanceOf(SyncError);
  expect(report.error?.message).toContain("no room for it");
});
