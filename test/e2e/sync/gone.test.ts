import { expect, test } from "vitest";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { passHours } from "../daemon/pass-time.ts";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld, aWorld, type ConfigChanges, fromEnvironment, type World } from "../world.ts";

const synced = (config: ConfigChanges = {}): Promise<World> => aSyncedWorld({ tenants: 6, config });

const flag = (world: World, id: string) =>
  world.database.query("UPDATE customers SET plan = 'cancelled' WHERE id = $1", [id]);

const HOUR = 3_600_000;

test("a group is deleted after the grace period", async () => {
  const world = await synced();
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

test("time in which the source can't be read doesn't count for the grace period", async () => {
  const world = await aWorld({
    tenants: 6,
    config: {
      tokens: { url: fromEnvironment("DIRECT_URL") },
      ledger: { url: fromEnvironment("DIRECT_URL") },
    },
  });
  const line = await tcpProxy(world.database.url);
  Object.assign(world.env, { DATABASE_URL: line.url, DIRECT_URL: world.database.url });
  await world.sync();
  await world.removeTenants(2, 2);
  expect(await world.sync()).toMatchObject({ code: 0, report: { missing: 1 } });

  await passHours(world, 15);
  line.limit(0);
  expect(await world.sync()).toMatchObject({ code: 1, report: { outcome: "failed", deleted: 0 } });
  await passHours(world, 15);
  line.limit(Number.POSITIVE_INFINITY);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 1 } });
  await passHours(world, 25);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1 } });
  await expectInSync(world);
});

test("when: flagged deletes groups of flagged rows, and keeps groups of missing rows", async () => {
  const world = await synced({
    source: { removed_when: "plan = 'cancelled'" },
    deletion: { when: "flagged", grace_period: "0s" },
  });
  await flag(world, "t-00001");
  await flag(world, "t-00002");
  // A flagged row needs no valid values.
  await world.database.query("UPDATE customers SET company_name = NULL WHERE id = 't-00002'");
  await world.removeTenants(3, 3);
  // A flagged tenant that was never seen before.
  await world.addTenants(7, 7);
  await flag(world, "t-00007");
  expect(await world.plan()).toMatchObject({
    create: [],
    delete: [
      { user_group_id: "t-00001", absence: "flagged" },
      { user_group_id: "t-00002", absence: "flagged" },
    ],
    missing: [{ user_group_id: "t-00003", absence: "absent", due_in_ms: null }],
    rejected: [],
    held: null,
  });
  expect(await world.sync()).toMatchObject({
    code: 0,
    report: { created: 0, deleted: 2, missing: 1, rejected: 0, unchanged: 3, failed: 0 },
  });
  expect(Object.keys(await world.live())).toEqual(["t-00003", "t-00004", "t-00005", "t-00006"]);
  expect(await world.stored()).toEqual(await world.live());
  expect((await world.run("plan")).stdout).toMatch(/^= t-00003 .*kept$/m);

  // A tenant flagged by mistake: the group is created again, with the row's present values.
  await world.database.query("UPDATE customers SET plan = 'gold' WHERE id = 't-00001'");
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1 } });
});

test("a tenant that isn't ready waits, is no mistake, and its group stays as it is", async () => {
  const world = await synced({
    source: { ready_when: "plan <> 'trial'" },
    deletion: { grace_period: "0s" },
  });
  const before = await world.live();
  const wait = (id: string) =>
    world.database.query("UPDATE customers SET plan = NULL, company_name = NULL WHERE id = $1", [id]);
  await wait("t-00001");
  await world.addTenants(7, 8);
  await wait("t-00007");
  await world.database.query("UPDATE customers SET plan = 'trial' WHERE id = 't-00008'");
  expect(await world.plan()).toMatchObject({
    create: [],
    update: [],
    delete: [],
    not_ready: 3,
    unchanged: 5,
  });
  for (let times = 0; times < 2; times++) {
    expect(await world.sync()).toMatchObject({
      code: 0,
      report: { outcome: "ok", not_ready: 3, unchanged: 5, rejected: 0, missing: 0, requests: 0, errors: [] },
    });
  }
  expect(await world.live()).toEqual(before);
  expect((await world.run("status")).stdout).toMatch(/^All is well\.$/m);
  expect(await world.sync("--only", "t-00007")).toMatchObject({
    code: 0,
    report: { not_ready: 1, errors: [{ user_group_id: "t-00007", code: "NOT_READY" }] },
  });
  expect((await world.run("plan", "--only", "t-00001")).stdout).toContain("= t-00001  not ready: ");

  await world.database.query("UPDATE customers SET plan = 'gold', company_name = 'New' WHERE id = 't-00007'");
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1, not_ready: 2, unchanged: 5 } });
  expect(Object.keys(await world.live())).toContain("t-00007");
});
