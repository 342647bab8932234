import { expect, test } from "vitest";
import { someOf } from "../../support/long.ts";
import { passHours } from "../daemon/pass-time.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

/** A config without a grace period and without a limit: only the checks under test can prevent a deletion. */
const WIDE_OPEN = { deletion: { grace_period: "0s", limit: { count: 1_000, percent: 100 } } };

/** Five tenants in sync, and a second table with other tenants, of whom one is in both tables. */
async function aSyncedWorld(): Promise<World> {
  const world = await aWorld({ tenants: 5, config: WIDE_OPEN });
  await world.database.query("ALTER TABLE customers ADD COLUMN number text");
  await world.database.query("UPDATE customers SET number = 'n-' || id");
  await world.database.query("CREATE TABLE prospects AS SELECT * FROM customers");
  await world.database.query("UPDATE prospects SET id = 'p-' || id WHERE id > 't-00001'");
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  return world;
}

const deletions = async (world: World): Promise<unknown> => (await world.requests()).by_operation.DELETE;

test.each<{ readonly what: string; readonly elsewhere: ConfigChanges; readonly created: number }>(
  someOf([
    { what: "another table", elsewhere: { source: { table: "prospects" } }, created: 4 },
    { what: "another id", elsewhere: { group: { id: "number" } }, created: 5 },
  ]),
)(
  "$what in the config deletes no group, and the next sync with the old config is clean",
  async ({ elsewhere, created }) => {
    const world = await aSyncedWorld();
    const before = await world.live();
    const gone = Object.keys(before).filter((id) => created === 5 || id !== "t-00001");
    await world.configure({ ...WIDE_OPEN, ...elsewhere });
    const first = await world.sync();
    expect(first).toMatchObject({
      code: 4,
      report: { outcome: "held", created, deleted: 0, held: gone.length },
    });
    expect(first.report.errors).toEqual([
      {
        user_group_id: null,
        code: "DELETIONS_HELD",
        message: expect.stringContaining("the config names another source than before"),
      },
    ]);
    // However many hours pass, the new source shows nothing about the old source's tenants.
    await passHours(world, 100);
    const second = await world.run("sync");
    expect(second.code).toBe(4);
    expect(second.stdout).toMatch(/put the old one back[\s\S]*--approve-deletions [0-9a-f]{20}/);
    expect(second.stdout).toContain(`--approve-deletions ${first.report.held_code}`);
    expect(await deletions(world)).toEqual({});
    expect(await world.live()).toMatchObject(before);

    // With the old source back, the groups of the new source's tenants are unseen.
    await world.configure(WIDE_OPEN);
    const back = await world.sync();
    expect(back).toMatchObject({ code: 4, report: { unchanged: 5, deleted: 0, held: created } });
    expect(await world.live()).toMatchObject(before);
    const code = String(back.report.held_code);
    expect(await world.sync("--approve-deletions", code)).toMatchObject({
      code: 0,
      report: { deleted: created, unchanged: 5 },
    });
    await expectInSync(world);
    expect(await world.live()).toEqual(before);
  },
);

/** One tenant is gone and one has another name: a DELETE and a replacement are due. */
async function aWorldWithRemovals(): Promise<World> {
  const world = await aWorld({ tenants: 5, config: { ...WIDE_OPEN, service: { update: "replace" } } });
  await world.sync();
  await world.removeTenants(1, 1);
  await world.database.query("UPDATE customers SET company_name = 'Renamed' WHERE id = 't-00002'");
  await world.forgetRequests();
  return world;
}

test("an API key of another team ends the run before anything is deleted, and another base_url before any request", async () => {
  const world = await aWorldWithRemovals();
  const before = await world.live();
  await world.serve({ teamId: 2 });
  expect(await world.sync()).toMatchObject({
    code: 1,
    report: { outcome: "failed", deleted: 0, replaced: 0, errors: [{ code: "TEAM_CHANGED" }] },
  });
  expect(await deletions(world)).toEqual({});
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);

  const other = await aWorld({ tenants: 0 });
  await world.configure({ ...WIDE_OPEN, service: { base_url: other.sandbox.baseUrl, update: "replace" } });
  expect(await world.sync()).toMatchObject({
    code: 1,
    report: { outcome: "failed", requests: 0, errors: [{ code: "SERVICE_CHANGED" }] },
  });
  expect(await other.requests()).toMatchObject({ total: 0 });
  expect(await world.stored()).toEqual(before);

  await world.serve({ teamId: 1 });
  await world.configure({ ...WIDE_OPEN, service: { update: "replace" } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, replaced: 1 } });
  await expectInSync(world);
});
