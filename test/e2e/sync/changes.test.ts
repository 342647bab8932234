import { expect, test } from "vitest";
import { aSyncedWorld, type World } from "../world.ts";

const rename = (world: World, id: string, name: string) =>
  world.database.query("UPDATE customers SET company_name = $2 WHERE id = $1", [id, name]);
const move = (world: World, id: string, warehouse: string) =>
  world.database.query("UPDATE customers SET warehouse = $2 WHERE id = $1", [id, warehouse]);

test("if GET keeps existing groups, a mapping change is unverified and a rename fails", async () => {
  const world = await aSyncedWorld({ tenants: 3 });
  await move(world, "t-00001", "elsewhere");
  expect(await world.sync()).toMatchObject({ code: 0, report: { updated: 1, unverified: 1, requests: 1 } });
  expect((await world.status()).groups).toMatchObject({ in_sync: 3, unverified: 1, failing: 0 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 3, requests: 0 } });

  await rename(world, "t-00002", "Renamed");
  const renamed = await world.sync();
  expect(renamed.code).toBe(3);
  expect(renamed.report).toMatchObject({ outcome: "partial", updated: 0, failed: 1, requests: 1 });
  expect(renamed.report.errors).toEqual([
    {
      user_group_id: "t-00002",
      code: "NOT_UPDATED",
      message: 'the service still calls it "Company 2" and not "Renamed"',
    },
  ]);

  // The failed rename has shown that this service keeps groups, so the mapping change failed too.
  const known = await world.sync();
  expect(known.code).toBe(3);
  expect(known.report).toMatchObject({ updated: 0, failed: 2 });
  const held = Object.fromEntries((await world.groups()).map((group) => [group.user_group_id, group]));
  expect(held["t-00001"]).toMatchObject({ mapping: { "40": "warehouse-1" } });
  expect(held["t-00002"]).toMatchObject({ name: "Company 2" });
  expect(await world.stored()).toEqual(await world.live());
});
