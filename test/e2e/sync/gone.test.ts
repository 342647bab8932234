import { expect, test } from "vitest";
import { passHours } from "../daemon/pass-time.ts";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld } from "../world.ts";

const HOUR = 3_600_000;

test("a group is deleted after the grace period", async () => {
  const world = await aSyncedWorld({ tenants: 6 });
  await passHours(world, 100);
  await world.removeTenants(2, 2);
  // The grace period begins with the first read that lacks the tenant, however long ago the read before was.
  expect(await world.plan()).toMatchObject({
    delete: [],
    missing: [{ user_group_id: "t-00002", absence: "absent", due_in_ms: 24 * HOUR }],
  });
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 1, unchanged: 5 } });
  await passHours(world, 23);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 1 } });
  expect(await world.status()).toMatchObject({ groups: { total: 6, in_sync: 5, missing: 1 }, held: null });
  expect(await world.requests()).toMatchObject({ total: 0 });

  await passHours(world, 1);
  expect(await world.plan()).toMatchObject({ delete: [{ user_group_id: "t-00002" }], missing: [] });
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, missing: 0 } });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ groups: { total: 5, in_sync: 5, missing: 0 } });
});
