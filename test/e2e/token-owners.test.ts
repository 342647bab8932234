import { expect, test } from "vitest";
import { LEDGER_TABLES } from "./ledger-tables.ts";
import { aWorld, type ConfigChanges, type World } from "./world.ts";

/** Production, in sync, and the config of a staging environment whose tokens.table was forgotten. */
async function twoConfigs(): Promise<{ world: World; staging: World; asStaging: ConfigChanges }> {
  const world = await aWorld({ tenants: 5, config: { name: "production" } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  const staging = await aWorld({ tenants: 0, service: { teamId: 2 } });
  const asStaging = {
    name: "staging",
    service: { base_url: staging.sandbox.baseUrl, api_key: staging.sandbox.apiKey },
  };
  return { world, staging, asStaging };
}

const loseLedger = (world: World): Promise<unknown> =>
  world.database.query(`DROP TABLE ${LEDGER_TABLES.map((table) => `groupsync_${table}`).join(", ")}`);

test("a config that forgot its tokens.table is refused by plan and by sync, and nothing of it leaves", async () => {
  const { world, staging, asStaging } = await twoConfigs();
  const before = await world.stored();
  await world.configure(asStaging);
  for (const command of [["plan"], ["plan", "--json"], ["sync"], ["rotate", "--all"]]) {
    const { code, stdout, stderr } = await world.run(...command);
    expect({ command, code }).toEqual({ command, code: 78 });
    for (const part of ["production", "team 1", "staging", "name another place", "groupsync_token_owners"])
      expect(stdout + stderr).toContain(part);
  }
  expect(await staging.requests()).toMatchObject({ total: 0 });
  expect(await world.stored()).toEqual(before);

  await world.configure({ ...asStaging, tokens: { table: "staging_tokens" } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  await world.configure({ name: "production" });
  await world.addTenants(6, 6);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1, unchanged: 5 } });
  expect(await world.stored()).toEqual(await world.live());
});

test("a lost ledger is recovered, once the service has answered for the tokens' own team", async () => {
  const { world, asStaging } = await twoConfigs();
  const before = await world.stored();
  await loseLedger(world);
  await world.configure(asStaging);
  expect(await world.sync()).toMatchObject({ code: 78 });

  await world.configure({ name: "production" });
  await world.serve({ teamId: 2 });
  expect(await world.sync()).toMatchObject({ code: 78, report: { adopted: 0, created: 0 } });
  expect(await world.stored()).toEqual(before);
  expect(await world.groups()).toMatchObject(Object.keys(before).map((id) => ({ user_group_id: id })));

  await world.serve({ teamId: 1 });
  expect(await world.run("plan")).toMatchObject({ code: 0 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { adopted: 5 } });
  expect(await world.stored()).toEqual(await world.live());
});

test("tokens that are handed over are written by the other config from then on, and not by the first", async () => {
  const { world, asStaging } = await twoConfigs();
  await world.configure(asStaging);
  const { stderr } = await world.sync();
  const [statement = ""] =
    /DELETE FROM \S+ WHERE .*?'groupsync_tokens'/.exec(stderr.replaceAll('\\"', '"')) ?? [];
  await world.database.query(statement);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  await world.configure({ name: "production" });
  expect(await world.sync()).toMatchObject({ code: 78 });
});
