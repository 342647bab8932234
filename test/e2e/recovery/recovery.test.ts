import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { newPlace, openDatabase, removeDatabase } from "../../support/databases/fresh-database.ts";
import { aWorld, idOf, type World, type WorldOptions } from "../world.ts";
import { backUp, LEDGER, lose, TOKENS } from "./backup.ts";

/** Groups whose tenants are gone are deleted at once. */
const AT_ONCE = { deletion: { grace_period: "0", limit: { count: 1, percent: 0 } } };

async function synced(options: WorldOptions = {}): Promise<World> {
  const world = await aWorld({ config: AT_ONCE, ...options, service: { existing: "update" } });
  expect(await world.sync()).toMatchObject({ code: 0 });
  return world;
}

/** A day on which t-00001 goes, t-00002 is renamed, t-00003 gets a new token, and t-00006 comes. */
async function aDayPasses(world: World): Promise<void> {
  await world.removeTenants(1, 1);
  await world.database.query("UPDATE customers SET company_name = 'Another' WHERE id = 't-00002'");
  await world.addTenants(6, 6);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1, updated: 1, deleted: 1 } });
  expect(await world.rotate("--only", idOf(3))).toMatchObject({ code: 0, report: { rotated: 1 } });
}

/** Every token that is stored is live, and every group has its token there. */
const expectAllStored = async (world: World): Promise<void> =>
  expect(await world.stored()).toEqual(await world.live());

const nameOf = async (world: World, number: number): Promise<string | undefined> =>
  (await world.groups()).find(({ user_group_id }) => user_group_id === idOf(number))?.name;

test("the ledger is lost: a sync adopts the groups with their tokens, and names the one whose tenant went meanwhile", async () => {
  const world = await synced();
  const before = await world.live();
  await lose(world.database, LEDGER);
  await world.removeTenants(5, 5);
  await world.addTenants(6, 6);
  const { code, report, stderr } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { adopted: 4, created: 1, deleted: 0 } });
  expect(stderr).toContain("LEDGER_EMPTY");
  expect(stderr).toMatch(/GROUP_UNTRACKED.*t-00005/);
  expect(await world.live()).toMatchObject(before);
  await expectAllStored(world);
});

describe("the ledger is restored from yesterday's backup", () => {
  test("alone: a sync and --verify-tokens bring everything up to date, and no live token is touched", async () => {
    const world = await synced();
    const restore = await backUp(world.database, LEDGER);
    await aDayPasses(world);
    await restore();
    const live = await world.live();
    // The group of the tenant that went is made for a moment, to be deleted with its token.
    const { code, report } = await world.sync("--verify-tokens");
    expect({ code, report }).toMatchObject({
      code: 0,
      report: { adopted: 1, updated: 1, deleted: 1, restored: 1, rotated: 0 },
    });
    expect(await world.live()).toEqual(live);
    await expectAllStored(world);
    expect(await world.sync("--verify-tokens")).toMatchObject({ report: { unchanged: 5, requests: 0 } });
  });

  test("with the table of its tokens: a live token in another store is not overwritten by the dead one of the table", async () => {
    const world = await aWorld({ tenants: 3 });
    const directory = join(world.folder, "tokens");
    await world.configure({ tokens: [{ table: "groupsync_tokens" }, { store: "file", directory }] });
    await world.sync();
    const restore = await backUp(world.database, [...LEDGER, ...TOKENS]);
    await world.rotate("--only", idOf(3));
    await restore();
    const live = await world.live();
    expect(await world.sync("--verify-tokens")).toMatchObject({
      code: 0,
      report: { restored: 1, requests: 1 },
    });
    expect(await world.live()).toEqual(live);
    await expectAllStored(world);
    const names = (await readdir(directory)).filter((name) => name !== ".groupsync");
    for (const name of names) expect(await readFile(join(directory, name), "utf8")).toBe(live[name]);
  });
});

test("the whole database is restored to yesterday: --refresh heals dead tokens, names, and groups that are gone", async () => {
  const world = await synced();
  const restore = await backUp(world.database, ["customers", ...LEDGER, ...TOKENS]);
  await aDayPasses(world);
  await restore();
  const live = await world.live();
  // Nothing in the database tells that it is old.
  expect(await world.sync("--verify-tokens")).toMatchObject({
    code: 0,
    report: { unchanged: 5, requests: 0 },
  });
  // Two groups are more than the limit.
  const { code, report } = await world.sync("--refresh");
  expect({ code, report }).toMatchObject({ code: 4, report: { drift: { token: 1, gone: 1 } } });
  expect((await world.sync("--approve-refresh", String(report.refresh_held_code))).code).toBe(0);
  const { [idOf(6)]: unknown, ...known } = await world.live();
  expect(await world.stored()).toEqual(known);
  expect({ ...known, [idOf(6)]: unknown }).toMatchObject(live);
  expect(await nameOf(world, 2)).toBe("Company 2");
  // The group of the tenant that came after the backup is adopted once the tenant is back.
  expect(unknown).toBeDefined();
  await world.addTenants(6, 6);
  expect(await world.sync()).toMatchObject({ code: 0, report: { adopted: 1 } });
  await expectAllStored(world);
});

// MySQL has no statement that copies a database.
test.runIf(inject("databaseKind") === "postgres")(
  "a config of staging on a copy of production's database changes nothing of production",
  async () => {
    const world = await synced({ config: { ...AT_ONCE, name: "production" } });
    const live = await world.live();
    const staging = await aWorld({ tenants: 0, service: { teamId: 2 } });
    const place = newPlace("postgres");
    const copy = openDatabase(place, () => removeDatabase(place));
    // The server may still be ending the program's sessions, and copies no database that somebody uses.
    await world.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    await world.database.query(`CREATE DATABASE "${copy.name}" TEMPLATE "${world.database.name}"`);
    await copy.query("DELETE FROM customers WHERE id = 't-00001'");
    await world.forgetRequests();
    world.env.DATABASE_URL = copy.url;
    const service = { base_url: staging.sandbox.baseUrl, api_key: staging.sandbox.apiKey };
    await world.configure({ ...AT_ONCE, name: "staging", service });
    const refused = await world.sync();
    expect(refused).toMatchObject({ code: 78, report: { requests: 0 } });
    expect(refused.stderr).toContain("CONFIG_TOKENS_OWNED");

    await world.configure({ ...AT_ONCE, name: "staging", service, tokens: { table: "staging_tokens" } });
    expect(await world.run("forget", "production", "--yes")).toMatchObject({ code: 0 });
    expect(await world.sync()).toMatchObject({ code: 0, report: { created: 4 } });
    expect(await world.requests()).toMatchObject({ total: 0 });
    expect(await world.live()).toEqual(live);
  },
);
