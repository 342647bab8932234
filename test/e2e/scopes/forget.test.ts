import { expect, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld, until } from "../world.ts";
import { ofProduction, rowsOf, STAGING, twoScopes } from "./two-scopes.ts";

const tokensOfStaging = (database: Parameters<typeof rowsOf>[1]) =>
  database.query("SELECT user_group_id FROM staging_tokens ORDER BY user_group_id");

test("a forgotten scope leaves groups and tokens, and its place for tokens to the next config; nothing of another scope changes", async () => {
  const { production, staging } = await twoScopes();
  await production.sync();
  await staging.sync();
  const live = await staging.live();
  await staging.configure({ ...STAGING, name: "next" });
  expect(await staging.sync()).toMatchObject({ code: 78 });
  await production.database.query("DELETE FROM groupsync_runs WHERE scope = 'next'");
  const theirs = await ofProduction(production.database);

  await staging.configure(STAGING);
  const done = await staging.run("forget", "staging", "--yes");
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('The scope "staging" is forgotten\n  5 groups left at the service\n');
  expect(done.stdout).toContain("the table staging_tokens can be used by another config now");
  expect(await rowsOf("staging", production.database)).toEqual([]);
  expect(await tokensOfStaging(production.database)).toHaveLength(5);
  expect(await staging.live()).toEqual(live);
  const { owners: _before, ...others } = theirs;
  expect(await ofProduction(production.database)).toMatchObject(others);

  await staging.configure({ ...STAGING, name: "next" });
  expect(await staging.sync()).toMatchObject({ code: 0, report: { adopted: 5 } });
  expect(await staging.live()).toEqual(live);
  expect(await production.sync()).toMatchObject({ code: 0, report: { unchanged: 5, requests: 0 } });
});

test("forget --delete-groups deletes the groups and tokens of its scope alone, also after it was killed", async () => {
  const { production, staging } = await twoScopes(60);
  await production.sync();
  await staging.sync();
  const theirs = await ofProduction(production.database);
  const live = await production.live();
  await staging.serve({ teamId: 2, latency: { min: 20, max: 40 } });
  await staging.forgetRequests();
  const killed = staging.start("forget", "staging", "--delete-groups", "--yes");
  await until(async () => (await staging.groups()).length < 50);
  await killed.stop("SIGKILL");
  const left = (await staging.groups()).length;
  expect(left).toBeGreaterThan(0);
  await production.database.query("UPDATE groupsync_leases SET expires_at = expires_at - INTERVAL '1' HOUR");

  const done = await staging.run("forget", "staging", "--delete-groups", "--yes", "--json");
  expect(done.code).toBe(0);
  expect(JSON.parse(done.stdout)).toMatchObject({ scope: "staging", forgotten: true, failed: 0, errors: [] });
  expect(await staging.groups()).toEqual([]);
  expect(await tokensOfStaging(production.database)).toEqual([]);
  expect(await rowsOf("staging", production.database)).toEqual([]);
  expect(await production.live()).toEqual(live);
  const { owners: _before, leases: _leases, ...others } = theirs;
  expect(await ofProduction(production.database)).toMatchObject(others);
  expect(await production.sync()).toMatchObject({ code: 0, report: { unchanged: 60, requests: 0 } });
});

test("a daemon that nobody has stopped makes no group anew once its scope is forgotten", async () => {
  const world = await aWorld({ tenants: 3, config: { ...EVERY_SECOND, schedule: "*/3 * * * * *" } });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await until(async () => {
    const { code } = await world.run("forget", "default", "--delete-groups", "--yes");
    return code === 0;
  });
  await daemon.says(/somebody has run `groupsync forget`/);
  expect(await world.groups()).toEqual([]);
  await daemon.program.stop("SIGTERM");
  expect(await rowsOf("default", world.database)).toEqual([]);
});
