import { expect, inject, test } from "vitest";
import { aRole, makerOf } from "../../support/databases/role.ts";
import { passHours } from "../daemon/pass-time.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

/** A config without a grace period and without a limit: only the checks of the read can prevent a deletion. */
const WIDE_OPEN = { grace_period: "0s", limit: { count: 1_000, percent: 100 } };

async function aSyncedWorld(config: ConfigChanges = { deletion: WIDE_OPEN }): Promise<World> {
  const world = await aWorld({ tenants: 5, config });
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  return world;
}

/** Expects that this read deletes nothing, because it doesn't show whether these groups' tenants are gone. */
async function expectInconclusive(world: World, kept: number, report: object = {}): Promise<void> {
  const before = await world.live();
  const planned = await world.plan();
  expect(planned).toMatchObject({ delete: [], held: { code: null, count: kept } });
  const ended = await world.sync();
  expect(ended).toMatchObject({
    code: 4,
    report: { outcome: "held", deleted: 0, held: kept, held_code: null, requests: 0, ...report },
  });
  expect(ended.report.errors).toContainEqual({
    user_group_id: null,
    code: "SOURCE_INCONCLUSIVE",
    message: expect.stringContaining("no valid row"),
  });
  expect(ended.stderr).toContain('"code":"SOURCE_INCONCLUSIVE"');
  expect((await world.run("sync")).stdout).toMatch(
    /no valid row[\s\S]*check what the config's source section selects/,
  );
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);
  expect(await world.requests()).toMatchObject({ total: 0 });
}

test("a table that was emptied by mistake deletes no group, and the next sync with all rows is clean", async () => {
  const world = await aSyncedWorld();
  await world.database.query("CREATE TABLE backup AS SELECT * FROM customers");
  await world.database.query("TRUNCATE customers");
  await expectInconclusive(world, 5);
  await world.database.query("INSERT INTO customers SELECT * FROM backup");
  expect(await world.sync()).toMatchObject({
    code: 0,
    report: { outcome: "ok", unchanged: 5, held: 0, requests: 0 },
  });
  expect(await world.status()).toMatchObject({ held: null, groups: { in_sync: 5, missing: 0 } });
});

test("a source.where that matches nothing deletes no group", async () => {
  const world = await aSyncedWorld();
  await world.configure({ deletion: WIDE_OPEN, source: { where: "plan = 'no such plan'" } });
  await expectInconclusive(world, 5);
  await world.configure({ deletion: WIDE_OPEN });
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 5, requests: 0 } });
});

test("rejected rows alone delete no group; beside a valid row they keep only their own groups", async () => {
  const world = await aSyncedWorld();
  await world.removeTenants(1, 3);
  await world.database.query("UPDATE customers SET company_name = NULL");
  await expectInconclusive(world, 3, { rejected: 2 });

  // One valid row makes the read usable. A rejected row keeps its group.
  await world.database.query("UPDATE customers SET company_name = 'Company 4' WHERE id = 't-00004'");
  expect(await world.sync()).toMatchObject({
    code: 3,
    report: { outcome: "partial", deleted: 3, rejected: 1, unchanged: 1, held: 0 },
  });
  expect(Object.keys(await world.live())).toEqual(["t-00004", "t-00005"]);
  expect(await world.stored()).toEqual(await world.live());
});

test("if all rows are rejected and no tenant is missing, nothing is held", async () => {
  const world = await aSyncedWorld();
  await world.database.query("UPDATE customers SET warehouse = NULL");
  expect(await world.sync()).toMatchObject({ code: 3, report: { outcome: "partial", rejected: 5, held: 0 } });
  expect(Object.keys(await world.live())).toHaveLength(5);
});

test("time with an empty source doesn't count for the grace period", async () => {
  const world = await aSyncedWorld({ deletion: { ...WIDE_OPEN, grace_period: "24h" } });
  await world.removeTenants(5, 5);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 1 } });
  await world.database.query("CREATE TABLE backup AS SELECT * FROM customers");
  await world.database.query("TRUNCATE customers");
  for (let times = 0; times < 2; times++) {
    await expectInconclusive(world, 5);
    await passHours(world, 25);
  }
  await world.database.query("INSERT INTO customers SELECT * FROM backup");
  for (let times = 0; times < 2; times++) {
    expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 1 } });
  }
  await passHours(world, 25);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1 } });
  await expectInSync(world);
});

test("even the last groups are deleted if their rows are flagged", async () => {
  const flagged = {
    source: { removed_when: "plan = 'cancelled'" },
    deletion: { ...WIDE_OPEN, when: "flagged" },
  };
  const world = await aSyncedWorld(flagged);
  await world.database.query("UPDATE customers SET plan = 'cancelled'");
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", deleted: 5 } });
  expect(await world.live()).toEqual({});
  expect(await world.stored()).toEqual({});
});

test.runIf(inject("databaseKind") === "postgres")(
  "a policy that hides tenants deletes no group",
  async () => {
    const world = await aSyncedWorld();
    const { query } = world.database;
    const role = await aRole(world.database);
    await role.grant("ALL");
    await query("ALTER TABLE customers ENABLE ROW LEVEL SECURITY");
    await query("CREATE POLICY few ON customers USING (id < 't-00003')");
    const own = { deletion: WIDE_OPEN, tokens: { owner: makerOf(world.database) } };
    await world.configure(own);
    world.env.DATABASE_URL = role.url;
    for (const command of ["plan", "sync"]) {
      expect(await world.run(command)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("source.row_security: filter"),
      });
    }
    expect(await world.requests()).toMatchObject({ total: 0 });

    await world.configure({ ...own, source: { row_security: "filter" } });
    expect((await world.plan()).delete).toHaveLength(3);
  },
);
