import { expect, test } from "vitest";
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
