import { expect, test } from "vitest";
import { expectInSync } from "../in-sync.ts";
import { aWorld, type ConfigChanges, until, type World } from "../world.ts";

const AT_ONCE: ConfigChanges = {
  service: { timeout: "1s" },
  deletion: { grace_period: "0s", limit: { count: 1_000, percent: 100 } },
};

/** Starts a sync whose calls all have their effect but get no answer, and kills the sync after the first calls. */
async function killUnanswered(world: World): Promise<void> {
  await world.serve({ shares: { "cut-after": 1 } });
  const program = world.start("sync");
  await until(async () => (await world.requests()).total > 0);
  expect((await program.stop("SIGKILL")).signal).toBe("SIGKILL");
  await until(async () => (await world.sessions()) === 0);
}

test("a group whose creation was killed before its answer, and whose tenant is gone, is removed", async () => {
  const world = await aWorld({ tenants: 0, config: AT_ONCE });
  await world.addTenants(1, 3);
  await killUnanswered(world);
  const made = Object.keys(await world.live());
  expect(made).not.toEqual([]);

  // Nobody has the group's token, and only the intent in the ledger tells of the group.
  await world.database.query("DELETE FROM customers");
  await world.addTenants(9, 9);
  await world.serve({});
  const { code, report } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { outcome: "ok", created: 1, failed: 0 } });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ groups: { total: 1, in_sync: 1, under_way: 0 } });
});

test("a tenant that is back, after a GET created its group only to delete it, sees its own data", async () => {
  const world = await aWorld({ tenants: 1, config: AT_ONCE, service: { shares: { "cut-before": 1 } } });
  // The creation never reaches the service …
  const creator = world.start("sync");
  await until(async () => (await world.requests()).total > 0);
  await creator.stop("SIGKILL");
  await world.removeTenants(1, 1);
  await world.addTenants(2, 2);
  // … and the deletion's GET creates the group, because a DELETE needs a token.
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
