import { expect, test } from "vitest";
import { dump } from "../dump.ts";
import { aSyncedWorld, idOf } from "../world.ts";

test("if 60 % of the tenants are gone, groups are created and updated, but not deleted", async () => {
  // The limit lets three groups go within 24 hours.
  const world = await aSyncedWorld({
    tenants: 20,
    service: { existing: "update" },
    config: { deletion: { grace_period: "0s" } },
  });
  const before = await world.live();
  await world.removeTenants(1, 12);
  await world.database.query("UPDATE customers SET company_name = 'Another' WHERE id = 't-00013'");
  await world.addTenants(21, 22);
  const untouched = await dump(world.database);
  const groups = Array.from({ length: 12 }, (_, n) => ({ user_group_id: idOf(n + 1), action: "delete" }));
  const { held } = await world.plan();
  expect(held).toMatchObject({ code: expect.stringMatching(/^[0-9a-f]{20}$/), count: 12, groups });
  expect(await dump(world.database)).toEqual(untouched);

  const counts = { created: 2, updated: 1, deleted: 0, unchanged: 7, held: 12 };
  expect(await world.sync()).toMatchObject({
    code: 4,
    report: {
      ...{ outcome: "held", ...counts, held_code: held.code, held_groups: groups },
      errors: [{ user_group_id: null, code: "DELETIONS_HELD" }],
    },
  });
  expect(await world.status()).toMatchObject({ held: { code: held.code, count: 12, groups } });
  expect((await world.requests()).by_operation).toMatchObject({ GET: { 200: 3 }, DELETE: {} });
  expect(await world.live()).toMatchObject(before);
  expect(await world.stored()).toEqual(await world.live());
  expect((await world.groups())[12]).toMatchObject({ name: "Another" });

  // The text says how many are held, which, and what to do.
  const { stdout } = await world.run("sync");
  expect(stdout).toMatch(
    /12 .*held[\s\S]*--approve-deletions [0-9a-f]{20}[\s\S]*delete t-00001 {2}"Company 1"\n/,
  );
});
