import { expect, inject, test } from "vitest";
import { aRole, makerOf } from "../../support/databases/role.ts";
import { someOf } from "../../support/long.ts";
import { passHours } from "../daemon/pass-time.ts";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld, type ConfigChanges, type World } from "../world.ts";

/** A config without a grace period and without a limit: only the checks of the read can prevent a deletion. */
const WIDE_OPEN = { grace_period: "0s", limit: { count: 1_000, percent: 100 } };

const synced = (config: ConfigChanges = { deletion: WIDE_OPEN }): Promise<World> => aSyncedWorld({ config });

/** Expects that this read deletes nothing, because it doesn't show whether these groups' tenants are gone. */
async function expectInconclusive(world: World, kept: number, report: object = {}): Promise<void> {
  const before = await world.live();
  const planned = await world.plan();
  expect(planned).toMatchObject({ delete: [], held: { code: null, count: kept } });
  const ended = await world.sync();
  expect(ended).toMatchObject({
    code: 4,
    report: { outcome: "held", deleted: 0, held: kept, held_code: null, requests: 0, ...report },
  });
  expect(ended.report.errors).toContainEqual({
    user_group_id: null,
    code: "SOURCE_INCONCLUSIVE",
    message: expect.stringContaining("no valid row"),
  });
  expect(ended.stderr).toContain('"code":"SOURCE_INCONCLUSIVE"');
  expect((await world.run("sync")).stdout).toMatch(
    /no valid row[\s\S]*check what the config's source section selects/,
  );
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);
  expect(await world.requests()).toMatchObject({ total: 0 });
}

test("a table that was emptied by mistake deletes no group, and the next sync with all rows is clean", async () => {
  const world = await synced();
  await world.database.query("CREATE TABLE backup AS SELECT * FROM customers");
  await world.database.query("TRUNCATE customers");
  await expectInconclusive(world, 5);
  await world.database.query("INSERT INTO customers SELECT * FROM backup");
  expect(await world.sync()).toMatchObject({
    code: 0,
    report: { outcome: "ok", unchanged: 5, held: 0, requests: 0 },
  });
  expect(await world.status()).toMatchObject({ held: null, groups: { in_sync: 5, missing: 0 } });
});

test.runIf(inject("databaseKind") === "postgres")(
  "a policy that hides tenants deletes no group",
  async () => {
    const world = await synced();
    const { query } = world.database;
    const role = await aRole(world.database);
    await role.grant("ALL");
    await query("ALTER TABLE customers ENABLE ROW LEVEL SECURITY");
    await query("CREATE POLICY few ON customers USING (id < 't-00003')");
    const own = { deletion: WIDE_OPEN, tokens: { owner: makerOf(world.database) } };
    await world.configure(own);
    world.env.DATABASE_URL = role.url;
    for (const command of ["plan", "sync"]) {
      expect(await world.run(command)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("source.row_security: filter"),
      });
    }
    expect(await world.requests()).toMatchObject({ total: 0 });

    await world.configure({ ...own, source: { row_security: "filter" } });
    expect((await world.plan()).delete).toHaveLength(3);
  },
);

/** Five tenants in sync, and a second table with other tenants, of whom one is in both tables. */
async function aWorldOfProspects(): Promise<World> {
  const world = await synced();
  await world.database.query("ALTER TABLE customers ADD COLUMN number text");
  await world.database.query("UPDATE customers SET number = 'n-' || id");
  await world.database.query("CREATE TABLE prospects AS SELECT * FROM customers");
  await world.database.query("UPDATE prospects SET id = 'p-' || id WHERE id > 't-00001'");
  return world;
}

test.each<{ readonly what: string; readonly elsewhere: ConfigChanges; readonly created: number }>(
  someOf([
    { what: "another table", elsewhere: { source: { table: "prospects" } }, created: 4 },
    { what: "another id", elsewhere: { group: { id: "number" } }, created: 5 },
  ]),
)(
  "$what in the config deletes no group, and the next sync with the old config is clean",
  async ({ elsewhere, created }) => {
    const world = await aWorldOfProspects();
    const before = await world.live();
    const gone = Object.keys(before).filter((id) => created === 5 || id !== "t-00001");
    await world.configure({ deletion: WIDE_OPEN, ...elsewhere });
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
    expect((await world.requests()).by_operation.DELETE).toEqual({});
    expect(await world.live()).toMatchObject(before);

    // With the old source back, the groups of the new source's tenants are unseen.
    await world.configure({ deletion: WIDE_OPEN });
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
