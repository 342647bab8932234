import { expect, inject, test } from "vitest";
import { withReader } from "../role.ts";
import { aWorld, type World } from "../world.ts";
import { normalised } from "./normalised.ts";

/** docs/commands.md links to these files. To record them anew: npx vitest -u --project postgres FILE */
const EXAMPLES = new URL("../../../docs/json/", import.meta.url);

test.runIf(inject("databaseKind") === "postgres")("--json prints what the docs show", async () => {
  const world = await aWorld({
    tenants: 0,
    service: { existing: "update", poison: new Map([["cus-1005", "success0"]]) },
  });
  const { query } = world.database;
  const add = (id: string, name: string, warehouse: string | null): Promise<unknown> =>
    query("INSERT INTO customers (id, company_name, warehouse, plan) VALUES ($1, $2, $3, 'team')", [
      ...[id, name, warehouse],
    ]);
  const reader = await withReader(world);
  const configure = (limit: object): Promise<void> =>
    world.configure({ ...reader, deletion: { grace_period: "0s", limit } });

  await configure({});
  await add("cus-1001", "Alderbrook Logistics", "warehouse-eu");
  await add("cus-1002", "Birchwood Foods", "warehouse-us");
  await add("cus-1003", "Cedar Labs", "warehouse-eu");
  expect((await world.sync()).code).toBe(0);

  await query("UPDATE customers SET company_name = 'Alderbrook Freight' WHERE id = 'cus-1001'");
  await add("cus-1004", "Wintergreen Tea", null);
  await add("cus-1005", "Dunmore Optics", "warehouse-us");
  await add("cus-1006", "Elmfield Energy", "warehouse-us");
  await expectExample("sync", 3, world, "sync");

  await query("UPDATE customers SET company_name = 'Birchwood Kitchens', plan = NULL WHERE id = 'cus-1002'");
  await query("DELETE FROM customers WHERE id = 'cus-1003'");
  await add("cus-1007", "Foxglove Care", "warehouse-eu");
  await expectExample("explain", 0, world, "explain", "cus-1002");
  await expectExample("plan", 0, world, "plan");

  await configure({ count: 0, percent: 0 });
  expect((await world.sync()).code).toBe(4);
  await expectExample("status", 0, world, "status", "--runs", "1");
  await expectExample("rotate", 0, world, "rotate", "--only", "cus-1001");
  await expectExample("check", 0, world, "check");
  await expectExample("probe", 0, world, "probe", "--yes");
  await expectExample("forget", 0, world, "forget", "default", "--delete-groups", "--yes");
});

async function expectExample(name: string, code: number, world: World, ...args: string[]): Promise<void> {
  const ended = await world.run(...args, "--json");
  expect(ended.code, ended.stderr).toBe(code);
  await expect(normalised(ended.stdout, world)).toMatchFileSnapshot(
    new URL(`${name}.json`, EXAMPLES).pathname,
  );
}
