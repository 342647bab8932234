import { expect, it } from "vitest";
import type { SyncSettings } from "../../src/engine/sync.ts";
import { tenants, World } from "../fakes/world.ts";

const HOUR = 3_600_000;

const settings: Partial<SyncSettings> = {
  update: "replace",
  deletion: { when: "absent", gracePeriodMs: 24 * HOUR, limit: { count: 1, percent: 0 } },
};

it("begins the grace period of who is missed in it where the clock stands, however long ago the last read was", async () => {
  const world = new World(tenants("a", "b", "c"));
  await world.sync({ settings });
  await world.time.sleep(30 * 24 * HOUR);
  world.tenants = tenants("a", "b").map((tenant) => ({ ...tenant, plan: "silver" }));
  expect(await world.sync({ settings })).toMatchObject({ counts: { held: 2, missing: 1 } });

  world.tenants = tenants("a", "b");
  expect(await world.sync({ settings })).toMatchObject({ counts: { held: 0, missing: 1 } });
  await world.time.sleep(23 * HOUR);
  expect(await world.sync({ settings })).toMatchObject({ counts: { missing: 1 } });
  await world.time.sleep(HOUR);
  expect(await world.sync({ settings })).toMatchObject({ counts: { deleted: 1 } });
});
