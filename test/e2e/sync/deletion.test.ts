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

test("sync --only --skip-grace deletes a held group and one in its grace period, and no limit counts them", async () => {
  const world = await aSyncedWorld({ tenants: 8, config: AT_ONCE });
  await world.removeTenants(1, 4);
  expect(await world.sync()).toMatchObject({ code: 4, report: { held: 4 } });
  await world.removeTenants(5, 5);
  const skipGrace = (...ids: string[]) => world.sync(...ids.flatMap((id) => ["--only", id]), "--skip-grace");
  expect(await skipGrace("t-00001", "t-00005")).toMatchObject({ code: 0, report: { deleted: 2, held: 0 } });
  expect(Object.keys(await world.stored())).toEqual([2, 3, 4, 6, 7, 8].map((n) => `t-0000${n}`));
  expect(await world.stored()).toEqual(await world.live());
  expect(await world.status()).toMatchObject({ held: { code: null, count: 3 } });
  expect((await world.run("explain", "t-00001")).stdout).toMatch(/deleted by sync --skip-grace +20/);

  const named = await skipGrace("t-00006");
  expect(named).toMatchObject({
    code: 3,
    report: { deleted: 0, errors: [{ user_group_id: "t-00006", code: "TENANT_PRESENT" }] },
  });
  // The limit lets three go.
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 3, held: 0 } });
  await expectInSync(world);
});

test("sync --skip-grace is wrong usage with deletion.when: never", async () => {
  const world = await aSyncedWorld({ tenants: 2, config: { deletion: { when: "never" } } });
  await world.removeTenants(1, 1);
  const refused = await world.run("sync", "--only", "t-00001", "--skip-grace");
  expect(refused).toMatchObject({ code: 64, stdout: "" });
  expect(refused.stderr).toContain("deletion.when is never");
  expect(await world.requests()).toMatchObject({ total: 0 });
});
