import { expect, test } from "vitest";
import { expectInSync } from "./in-sync.ts";
import { aWorld, type ConfigChanges, until, type World } from "./world.ts";

const AT_ONCE: ConfigChanges = {
  service: { timeout: "2s" },
  deletion: { grace_period: "0s", limit: { count: 1_000, percent: 100 } },
};

/** Starts a sync whose calls all have their effect and no answer, and kills it after the first few. */
async function killUnanswered(world: World): Promise<void> {
  await world.serve({ shares: { "cut-after": 1 } });
  const program = world.start("sync");
  await until(async () => (await world.requests()).total > 0);
  expect((await program.stop("SIGKILL")).signal).toBe("SIGKILL");
  await until(async () => (await world.sessions()) === 0);
}

test("a group whose creator died without an answer, and whose tenant then went, is found and removed", async () => {
  const world = await aWorld({ tenants: 0, config: AT_ONCE });
  await world.addTenants(1, 3);
  await killUnanswered(world);
  const made = Object.keys(await world.live());
  expect(made).not.toEqual([]);

  // Nobody has its token, and but for the intent nobody would know of it.
  await world.database.query("DELETE FROM customers");
  await world.addTenants(9, 9);
  await world.serve({});
  const { code, report } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { outcome: "ok", created: 1, failed: 0 } });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ groups: { total: 1, in_sync: 1, under_way: 0 } });
});

test("a group that was never made leaves nothing behind either, when its tenant goes", async () => {
  const world = await aWorld({ tenants: 0, config: AT_ONCE });
  await world.addTenants(1, 3);
  await world.serve({ shares: { "cut-before": 1 } });
  const program = world.start("sync");
  await until(async () => (await world.requests()).total > 0);
  await program.stop("SIGKILL");
  await until(async () => (await world.sessions()) === 0);
  expect(await world.live()).toEqual({});

  await world.removeTenants(1, 3);
  await world.addTenants(9, 9);
  await world.serve({});
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1, failed: 0 } });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ groups: { total: 1, in_sync: 1, under_way: 0 } });
});

test("a deletion whose answer was lost with its process is finished by the next run", async () => {
  const world = await aWorld({ tenants: 5, config: AT_ONCE });
  await world.sync();
  await world.removeTenants(1, 3);
  await killUnanswered(world);
  await world.serve({});
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0 } });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ groups: { total: 2, in_sync: 2, under_way: 0 } });
});

test("a tenant that is back after its deletion was begun has a group and its live token", async () => {
  const world = await aWorld({ tenants: 5, config: AT_ONCE });
  await world.sync();
  await world.removeTenants(1, 3);
  await killUnanswered(world);
  await world.addTenants(1, 3);
  await world.serve({});
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", deleted: 0, failed: 0 } });
  await expectInSync(world);
});

test("replacements that were begun are finished by the next run, whatever the limit says by then", async () => {
  const replacing = { ...AT_ONCE, service: { update: "replace", timeout: "2s" } };
  const world = await aWorld({ tenants: 5, config: replacing });
  await world.sync();
  await world.database.query("UPDATE customers SET company_name = company_name || '*' WHERE id <> 't-00005'");
  await killUnanswered(world);
  await world.database.query("UPDATE customers SET company_name = company_name || '*' WHERE id = 't-00005'");
  await world.serve({});
  await world.configure({ ...replacing, deletion: { grace_period: "0s", limit: { count: 0, percent: 0 } } });
  const held = await world.sync();
  expect(held).toMatchObject({
    code: 4,
    report: {
      replaced: 4,
      failed: 0,
      held: 1,
      held_groups: [{ user_group_id: "t-00005", action: "replace" }],
    },
  });
  expect(Object.keys(await world.live())).toHaveLength(5);
  expect(await world.stored()).toEqual(await world.live());
  const { code, report } = await world.sync("--approve-deletions", String(held.report.held_code));
  expect({ code, report }).toMatchObject({ code: 0, report: { replaced: 1 } });
  await expectInSync(world);
});

test("a tenant that is back while its group was only made to be deleted sees its own data", async () => {
  const world = await aWorld({ tenants: 1, config: AT_ONCE, service: { shares: { "cut-before": 1 } } });
  // Its creation never arrives …
  const creator = world.start("sync");
  await until(async () => (await world.requests()).total > 0);
  await creator.stop("SIGKILL");
  await world.removeTenants(1, 1);
  await world.addTenants(2, 2);
  // … and its deletion makes a group, to have a token for it.
  await world.serve({ latency: { min: 300, max: 300 } });
  const deleter = world.start("sync");
  await until(async () => (await world.live())["t-00001"] !== undefined);
  await deleter.stop("SIGKILL");
  await until(async () => (await world.sessions()) === 0);
  expect((await world.groups())[0]).toMatchObject({ user_group_id: "t-00001", mapping: {} });

  await world.addTenants(1, 1);
  await world.serve({});
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", errors: [] } });
  await expectInSync(world);
});

test("a replacement that was begun and whose cause was taken back is not left half done", async () => {
  const replacing = { ...AT_ONCE, service: { update: "replace", timeout: "2s" } };
  const world = await aWorld({ tenants: 3, config: replacing });
  await world.sync();
  await world.database.query("UPDATE customers SET company_name = company_name || '*' WHERE id <> 't-00003'");
  // The new group is made, and nobody hears of its token.
  await world.serve({ poison: new Map([["t-00002", "missing-field"]]) });
  expect(await world.sync()).toMatchObject({ code: 3, report: { replaced: 1, failed: 1 } });
  expect((await world.groups())[1]).toMatchObject({ user_group_id: "t-00002", name: "Company 2*" });

  await world.database.query("UPDATE customers SET company_name = 'Company 2' WHERE id = 't-00002'");
  await world.serve({});
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", replaced: 1 } });
  await expectInSync(world);
});

test("told to stop in the middle of replacements, it leaves no tenant without a group", async () => {
  const world = await aWorld({
    tenants: 200,
    config: { ...AT_ONCE, service: { update: "replace", timeout: "2s" } },
  });
  await world.sync();
  await world.database.query("UPDATE customers SET company_name = company_name || '*'");
  await world.serve({ latency: { min: 20, max: 60 } });
  const program = world.start("sync", "--json");
  await until(async () => (await world.requests()).total > 50);
  const { code, stdout } = await program.stop("SIGTERM");
  expect(code).toBe(1);
  const { replaced, errors } = JSON.parse(stdout);
  expect(errors).toMatchObject([{ code: "INTERRUPTED" }]);
  expect(Object.keys(await world.live())).toHaveLength(200);
  expect(await world.stored()).toEqual(await world.live());
  expect(await world.sync()).toMatchObject({ code: 0, report: { replaced: 200 - replaced } });
  await expectInSync(world);
});

test.each([
  ["name", "company_name"],
  ["mapping", "warehouse"],
])(
  "a group whose creator died, and whose %s is another by now, ends as what it should be",
  async (_, column) => {
    const world = await aWorld({
      tenants: 3,
      config: { ...AT_ONCE, service: { update: "replace", timeout: "2s" } },
    });
    await killUnanswered(world);
    await world.database.query(`UPDATE customers SET ${column} = ${column} || ', changed'`);
    // Shows that this service keeps what exists.
    await world.serve({});
    await world.addTenants(4, 4);
    await world.call("GET", { user_group_id: "t-00004", name: "Another", mapping: {}, properties: {} });
    await world.sync();
    await world.sync();
    expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", errors: [] } });
    await expectInSync(world);
  },
);
