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

test("once the team is known, each deletion takes one request", async () => {
  const world = await synced();
  await world.removeTenants(1, 3);
  await expectDeleted(world, { deleted: 3, requests: 4 });
  expect(await answers(world)).toEqual({ GET: { 200: 1 }, DELETE: { 200: 3 } });
});

test("if the service refuses a stale token, a GET asks for the live one", async () => {
  const world = await synced();
  await world.call("POST", { current_token: (await world.live())["t-00001"] });
  await world.removeTenants(1, 1);
  await world.addTenants(6, 6);
  await expectDeleted(world, { created: 1, deleted: 1 });
  expect(await answers(world)).toEqual({ GET: { 200: 2 }, DELETE: { 200: 1, 404: 1 } });
});

test("if the token table lacks the token, a GET asks for it", async () => {
  const world = await synced();
  await world.database.query("DELETE FROM groupsync_tokens WHERE user_group_id = 't-00001'");
  await world.removeTenants(1, 1);
  await world.addTenants(6, 6);
  await expectDeleted(world, { created: 1, deleted: 1 });
  expect(await answers(world)).toEqual({ GET: { 200: 2 }, DELETE: { 200: 1 } });
});

test("the deletion of a group that is already gone leaves nothing behind", async () => {
  const world = await synced();
  await world.call("DELETE", {
    user_group_id: "t-00001",
    current_token: (await world.live())["t-00001"],
  });
  await world.forgetRequests();
  await world.removeTenants(1, 1);
  await world.addTenants(6, 6);
  await expectDeleted(world, { created: 1, deleted: 1 });
  expect(await answers(world)).toEqual({ GET: { 200: 2 }, DELETE: { 200: 1, 404: 1 } });
});

test("a token copied from another group doesn't delete that group, if the service finds groups by token alone", async () => {
  const world = await synced({ service: { deleteBy: "token" } });
  const live = await world.live();
  // A restored backup, a row that was copied with all its columns …
  await world.database.query("UPDATE groupsync_tokens SET token = $1 WHERE user_group_id = 't-00001'", [
    live["t-00002"],
  ]);
  await world.removeTenants(1, 1);
  await world.addTenants(6, 6);
  await expectDeleted(world, { created: 1, deleted: 1 });
  expect(await world.live()).toMatchObject({ "t-00002": live["t-00002"] });
});

test("a deletion that the service refuses fails alone, and is retried", async () => {
  const world = await synced();
  await world.serve({ poison: new Map([["t-00001", "success0"]]) });
  await world.removeTenants(1, 2);
  const { code, report } = await world.sync();
  expect({ code, report }).toMatchObject({
    code: 3,
    report: { outcome: "partial", deleted: 1, failed: 1, errors: [{ user_group_id: "t-00001" }] },
  });
  expect(Object.keys(await world.live())).toContain("t-00001");
  expect(await world.status()).toMatchObject({ failing: [{ user_group_id: "t-00001", count: 1 }] });
  await world.serve({});
  await expectDeleted(world, { deleted: 1 });
});

test("DELETEs whose answers are lost leave nothing behind in the end", async () => {
  const world = await synced({
    tenants: 10,
    config: { deletion: { grace_period: "0s", limit: { count: 100 } } },
  });
  await world.serve({ shares: { "cut-after": 0.25, "cut-before": 0.05 }, seed: 3 });
  await world.removeTenants(1, 8);
  const { report } = await world.sync();
  expect(Number(report.deleted) + Number(report.failed)).toBe(8);
  expect((await world.requests()).by_operation.DELETE.cut).toBeGreaterThan(0);
  await world.serve({});
  await expectDeleted(world, { deleted: report.failed });
});

test("with rows: existing, tokens of deleted groups go with their rows or are set to NULL", async () => {
  const world = await synced({
    config: {
      source: { removed_when: "plan = 'cancelled'" },
      tokens: { table: "customers", rows: "existing", id_column: "id", token_column: "dashboard_token" },
      ...AT_ONCE,
    },
  });
  const { query } = world.database;
  await world.removeTenants(1, 1);
  await query("UPDATE customers SET plan = 'cancelled' WHERE id = 't-00002'");
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 2, failed: 0 } });
  expect(await query("SELECT id, dashboard_token AS token FROM customers ORDER BY id")).toEqual([
    { id: "t-00002", token: null },
    ...Object.entries(await world.live()).map(([id, token]) => ({ id, token })),
  ]);
  expect(Object.keys(await world.live())).toEqual(["t-00003", "t-00004", "t-00005"]);
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 3, requests: 0 } });
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
