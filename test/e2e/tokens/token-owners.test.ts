import { expect, test } from "vitest";
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
