import { expect, test } from "vitest";
import { expectInSync } from "./in-sync.ts";
import { passHours } from "./pass-time.ts";
import { aWorld, type ConfigChanges, type World } from "./world.ts";

/** Nothing but what these tests are about stands between a group and its deletion. */
const WIDE_OPEN = { deletion: { grace_period: "0s", limit: { count: 1_000, percent: 100 } } };

/** Five tenants in sync, and beside them a table with three others, one of whom is in both. */
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

test.each<{ readonly what: string; readonly elsewhere: ConfigChanges; readonly created: number }>([
  { what: "another table", elsewhere: { source: { table: "prospects" } }, created: 4 },
  { what: "another id", elsewhere: { group: { id: "number" } }, created: 5 },
])(
  "$what in the config deletes nobody, and putting the old one back heals",
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
        message: expect.stringContaining("since the config names another source"),
      },
    ]);
    expect((await world.run("sync")).stdout).toMatch(
      /put the old one back[\s\S]*--approve-deletions [0-9a-f]{20}/,
    );
    // However often, and however long: the new source is no evidence about the old one's tenants.
    for (let times = 0; times < 2; times++) {
      await passHours(world, 100);
      expect(await world.sync()).toMatchObject({
        code: 4,
        report: { deleted: 0, held: gone.length, held_code: first.report.held_code },
      });
    }
    expect(await deletions(world)).toEqual({});
    expect(await world.live()).toMatchObject(before);

    // The old one is back: now the new one's groups are those that nobody has seen here.
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

test("a move that is meant is approved by its code", async () => {
  const world = await aSyncedWorld();
  await world.configure({ ...WIDE_OPEN, source: { table: "prospects" } });
  const { report } = await world.sync();
  expect(report).toMatchObject({ created: 4, held: 4 });
  const approved = await world.sync("--approve-deletions", String(report.held_code));
  expect(approved).toMatchObject({ code: 0, report: { deleted: 4, unchanged: 5 } });
  expect(Object.keys(await world.live())).toEqual([
    "p-t-00002",
    "p-t-00003",
    "p-t-00004",
    "p-t-00005",
    "t-00001",
  ]);
  expect(await world.stored()).toEqual(await world.live());

  // From here on it is a source like any other.
  await world.database.query("DELETE FROM prospects WHERE id = 't-00001'");
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, held: 0 } });
});

test("with a grace period, another source lets nobody age into being deleted", async () => {
  const world = await aSyncedWorld();
  const elsewhere = {
    source: { table: "prospects" },
    deletion: { ...WIDE_OPEN.deletion, grace_period: "24h" },
  };
  await world.configure(elsewhere);
  for (let times = 0; times < 3; times++) {
    expect((await world.sync()).report).toMatchObject({ deleted: 0 });
    await passHours(world, 25);
  }
  expect(await world.sync()).toMatchObject({ code: 4, report: { deleted: 0, held: 4 } });
  await world.configure(WIDE_OPEN);
  expect(await world.sync()).toMatchObject({ report: { unchanged: 5, deleted: 0 } });
});

test("an empty ledger beside tokens: all is adopted, and nobody is deleted within a grace period", async () => {
  const world = await aWorld({ tenants: 5 });
  await world.sync();
  for (const table of ["groups", "services", "evidence", "removals", "token_places"]) {
    await world.database.query(`DELETE FROM groupsync_${table}`);
  }
  await world.removeTenants(1, 1);
  const before = await world.live();
  const { code, report, stderr } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { adopted: 4, deleted: 0 } });
  expect(stderr).toContain('"code":"LEDGER_EMPTY"');
  expect(stderr).toMatch(/"code":"GROUP_UNTRACKED".*1 token in the table groupsync_tokens .*: t-00001"/);
  await world.removeTenants(2, 2);
  for (const hours of [0, 23]) {
    await passHours(world, hours);
    expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 1 } });
  }
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);
});

/** One is gone and one has another name: a DELETE and a replacement are due. */
async function aWorldWithRemovals(): Promise<World> {
  const world = await aWorld({ tenants: 5, config: { ...WIDE_OPEN, service: { update: "replace" } } });
  await world.sync();
  await world.removeTenants(1, 1);
  await world.database.query("UPDATE customers SET company_name = 'Renamed' WHERE id = 't-00002'");
  await world.forgetRequests();
  return world;
}

test("a key of another team ends the run before anything is deleted", async () => {
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

  await world.serve({ teamId: 1 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, replaced: 1 } });
  await expectInSync(world);
});

test("another address ends the run before any request", async () => {
  const world = await aWorldWithRemovals();
  const before = await world.live();
  const other = await aWorld({ tenants: 0 });
  await world.configure({ ...WIDE_OPEN, service: { base_url: other.sandbox.baseUrl, update: "replace" } });
  expect(await world.sync()).toMatchObject({
    code: 1,
    report: { outcome: "failed", requests: 0, errors: [{ code: "SERVICE_CHANGED" }] },
  });
  expect(await other.requests()).toMatchObject({ total: 0 });
  expect(await world.stored()).toEqual(before);
  await world.configure({ ...WIDE_OPEN, service: { update: "replace" } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, replaced: 1 } });
  await expectInSync(world);
});
