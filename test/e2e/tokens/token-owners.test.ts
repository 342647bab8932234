import { expect, test } from "vitest";
import { LEDGER_TABLES } from "../ledger-tables.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

/** Production, in sync, and a staging config that lacks a tokens.table of its own. */
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

test("plan and sync refuse a config whose token table belongs to another config, and send nothing, until the table is handed over", async () => {
  const { world, staging, asStaging } = await twoConfigs();
  const before = await world.stored();
  await world.configure(asStaging);
  const refused = [await world.run("plan"), await world.run("sync")];
  for (const { code, stdout, stderr } of refused) {
    expect(code).toBe(78);
    for (const part of ["production", "team 1", "staging", "name another place", "groupsync_token_owners"])
      expect(stdout + stderr).toContain(part);
  }
  expect(await staging.requests()).toMatchObject({ total: 0 });
  expect(await world.stored()).toEqual(before);

  const said = refused[1]?.stderr.replaceAll('\\"', '"') ?? "";
  const [statement = ""] = /DELETE FROM \S+ WHERE .*?'groupsync_tokens'/.exec(said) ?? [];
  await world.database.query(statement);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  expect(await world.stored()).toEqual(await staging.live());
  await world.configure({ name: "production" });
  expect(await world.sync()).toMatchObject({ code: 78 });
});

test("a lost ledger is rebuilt, without a deletion, once the service has answered with the team of the owner's mark", async () => {
  const { world } = await twoConfigs();
  const before = await world.stored();
  await world.database.query(`DROP TABLE ${LEDGER_TABLES.map((table) => `groupsync_${table}`).join(", ")}`);
  await world.removeTenants(1, 1);
  await world.serve({ teamId: 2 });
  const refused = await world.sync();
  expect(refused).toMatchObject({ code: 78, report: { adopted: 0, created: 0 } });
  expect(refused.stderr).toMatch(
    /"code":"GROUP_UNTRACKED".*1 token in the table groupsync_tokens .*: t-00001"/,
  );
  expect(await world.stored()).toEqual(before);
  expect(await world.groups()).toMatchObject(Object.keys(before).map((id) => ({ user_group_id: id })));

  await world.serve({ teamId: 1 });
  const { code, report, stderr } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { adopted: 4, deleted: 0 } });
  expect(stderr).toContain('"code":"LEDGER_EMPTY"');
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);
});
