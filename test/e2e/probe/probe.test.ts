import { expect, test } from "vitest";
import { expectInSync } from "../in-sync.ts";
import { aWorld, until } from "../world.ts";

test("a probe that is told to stop deletes its canary first", async () => {
  const world = await aWorld({ tenants: 1, service: { latency: { min: 20, max: 40 } } });
  await world.sync();
  const { total } = await world.requests();
  const program = world.start("probe", "--yes", "--json");
  await until(async () => (await world.requests()).total >= total + 2);
  const { code, stdout } = await program.stop("SIGTERM");
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    report: { outcome: "failed", canary: { gone: true }, errors: [{ code: "INTERRUPTED" }] },
  });
  const canaries = "SELECT user_group_id FROM groupsync_groups WHERE gone = 'canary'";
  expect(await world.database.query(canaries)).toEqual([]);
  await expectInSync(world);
});
