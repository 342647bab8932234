import { expect, test } from "vitest";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld, type ConfigChanges, type World, type WorldOptions } from "../world.ts";

const AT_ONCE: ConfigChanges = { deletion: { grace_period: "0s" } };

const synced = (options: WorldOptions = {}): Promise<World> => aSyncedWorld({ config: AT_ONCE, ...options });

/** What the sandbox answered, by operation. */
const answers = async (world: World): Promise<unknown> => {
  const { GET, DELETE } = (await world.requests()).by_operation;
  return { GET, DELETE };
};

/** Expects the report. A first answer shows that the team is right; after it, each DELETE has the stored token. */
async function expectDeleted(world: World, report: object): Promise<void> {
  expect(await world.sync()).toMatchObject({
    code: 0,
    report: { outcome: "ok", errors: [], ...report },
  });
  await expectInSync(world);
  expect(
    await world.database.query("SELECT * FROM groupsync_groups WHERE user_group_id = 't-00001'"),
  ).toEqual([]);
}

test("a run with a single deletion first asks by GET which team the API key belongs to; without data_source_provided_id its DELETE names none", async () => {
  const world = await synced();
  await world.removeTenants(1, 1);
  await expectDeleted(world, { deleted: 1, requests: 2 });
  expect(await answers(world)).toEqual({ GET: { 200: 1 }, DELETE: { 200: 1 } });
  expect((await world.requests()).deletions).toEqual([
    { user_group_id: "t-00001", data_source_provided_id: null },
  ]);
});

test("a DELETE names the data source that the group was created with, if the config gives one", async () => {
  const config = {
    group: { data_source_provided_id: "source-{{ warehouse }}" },
    service: { update: "replace" },
    ...AT_ONCE,
  };
  const world = await synced({ config });
  const deletions = async () =>
    (await world.requests()).deletions.toSorted((a, b) => (a.user_group_id < b.user_group_id ? -1 : 1));
  await world.removeTenants(1, 1);
  await world.database.query("UPDATE customers SET warehouse = 'elsewhere' WHERE id = 't-00002'");
  await expectDeleted(world, { deleted: 1, replaced: 1 });
  expect(await deletions()).toEqual([
    { user_group_id: "t-00001", data_source_provided_id: "source-warehouse-1" },
    { user_group_id: "t-00002", data_source_provided_id: "source-warehouse-2" },
  ]);

  await world.forgetRequests();
  await world.removeTenants(2, 2);
  await expectDeleted(world, { deleted: 1 });
  expect(await deletions()).toEqual([
    { user_group_id: "t-00002", data_source_provided_id: "source-elsewhere" },
  ]);
});
