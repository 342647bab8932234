import { describe, expect, test } from "vitest";
import { dump } from "../dump.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";
import { ofProduction } from "./two-scopes.ts";

const CONFIG: ConfigChanges = {
  name: "production",
  deletion: { grace_period: "0", limit: { count: 100, percent: 100 } },
};

/**
 * Production, in sync. Since then one tenant is new, one is gone, and one has another name: a copy of its config that was not
 * changed enough has something to create, to delete and to update.
 */
async function production(): Promise<World> {
  const world = await aWorld({ tenants: 5, config: CONFIG });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  await world.addTenants(6, 6);
  await world.removeTenants(1, 1);
  await world.database.query("UPDATE customers SET company_name = 'Another' WHERE id = 't-00002'");
  await world.forgetRequests();
  return world;
}

/** Everything of production that a copy could harm. */
const harmable = async (world: World) => ({
  kept: await ofProduction(world.database),
  live: await world.live(),
});

async function printedBy(world: World, ...args: string[]) {
  const { code, stdout, stderr } = await world.run(...args);
  return { code, said: `${stdout}${stderr}`.replaceAll('\\"', '"') };
}

describe("a copy of production's config in the same database", () => {
  test("with another name and table, but production's key, is refused at the first answer, and stores nothing", async () => {
    const world = await production();
    const before = await harmable(world);
    await world.configure({ ...CONFIG, name: "staging", tokens: { table: "staging_tokens" } });
    const { code, said } = await printedBy(world, "sync");
    expect(code).toBe(78);
    expect(said).toMatch(/ belongs? to the scope "production" of this ledger too/);
    expect(said).toContain("service.api_key of another team");
    expect((await world.requests()).by_operation).toMatchObject({ GET: { 200: 1 } });
    const { owners: _owners, ...kept } = before.kept;
    expect(await harmable(world)).toMatchObject({ kept, live: before.live });
    expect((await dump(world.database)).staging_tokens).toEqual([]);

    // Once production is retired, this config takes its groups over, with their tokens.
    expect(await world.run("forget", "production", "--yes")).toMatchObject({ code: 0 });
    await world.database.query("UPDATE customers SET company_name = 'Company 2' WHERE id = 't-00002'");
    expect(await world.sync()).toMatchObject({ code: 0, report: { adopted: 4, created: 1 } });
  });
});
