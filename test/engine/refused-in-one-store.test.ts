import { expect, test } from "vitest";
import { expectBoth, synced, TwoStores } from "../fakes/two-stores.ts";
import { tenants } from "../fakes/world.ts";

test("a token that one of several stores refuses is not rotated, and keeps no other from its turn", async () => {
  const world = new TwoStores(tenants("a", "b", "c"));
  world.second.refused.add("b");
  expect(await world.sync()).toMatchObject({ outcome: "partial" });
  const before = world.service.tokens.get("b");
  expect(await world.startRotation({ kind: "all" }).report).toMatchObject({
    outcome: "partial",
    counts: { rotated: 2, failed: 1 },
    errors: [{ user_group_id: "b", code: "TOKEN_NOT_EVERYWHERE" }],
  });
  expect(world.service.tokens.get("b")).toBe(before);
  expect(world.store.tokens).toEqual(world.service.tokens);

  world.second.refused.clear();
  await world.time.sleep(10 * 60_000);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expectBoth(world);
});

test("nor is one that somebody has taken out of a store that refuses it by now", async () => {
  const world = await synced("a", "b", "c");
  world.second.tokens.delete("b");
  world.second.refused.add("b");
  expect(await world.startRotation({ kind: "all" }).report).toMatchObject({
    outcome: "partial",
    counts: { rotated: 2, failed: 1 },
  });
  expect(world.store.tokens).toEqual(world.service.tokens);
});
