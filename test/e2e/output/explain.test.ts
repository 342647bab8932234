import { expect, test } from "vitest";
import { dump } from "../dump.ts";
import { aWorld, type World } from "../world.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the program printed
const explain = async (world: World, id: string): Promise<any> => {
  const { code, stdout, stderr } = await world.run("explain", "--json", "--", id);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
};

const WHEN = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const HASH = /[\w-]{43}/g;

/** What `explain` prints, with placeholders for what differs from run to run. */
async function page(world: World, id: string): Promise<string> {
  const { code, stdout, stderr } = await world.run("explain", id);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .replaceAll(WHEN, "TIME")
    .replaceAll(HASH, "HASH")
    .replace(/, for .*$/m, ", for A WHILE")
    .replace(/(token goes to +table) .*$/m, "$1 …")
    .replace(/^( {2}row +(?:in|none in) )\w+\.customers$/m, "$1customers");
}

test("explains a tenant in sync, a changed and a new one, and changes nothing", async () => {
  const world = await aWorld({ tenants: 2 });
  await world.sync();
  const { query } = world.database;
  await query("UPDATE customers SET company_name = $1, plan = NULL WHERE id = 't-00002'", ["New\u001b[2J"]);
  await query("INSERT INTO customers (id, company_name, warehouse) VALUES ('ü-1', 'Größe', 'w')");
  await world.forgetRequests();
  const untouched = await dump(world.database);

  expect(await page(world, "t-00001")).toBe(`\
t-00001: in sync
  its group is as its row wants it

  row                    in customers
  row.id                 "t-00001"
  row.company_name       "Company 1"
  row.warehouse          "warehouse-1"
  row.plan               "gold"
  group.name             "Company 1"
  group.mapping.40       "warehouse-1"
  group.properties.plan  "gold"
  last asked for         TIME
  token                  hash HASH
  token since            TIME, for A WHILE
  token goes to          table …
  token stored           yes
  first recorded         TIME
  last change            TIME
`);
  const changed = await page(world, "t-00002");
  expect(changed).toContain("t-00002: changed\n");
  expect(changed).toContain("  what helps: groupsync sync --only t-00002\n");
  expect(changed).toContain('  group.name             "New\\u001b[2J"  the service confirmed "Company 2"\n');
  expect(changed).toContain('  group.properties.plan  null  the service confirmed "gold"\n');
  expect(changed).toContain('  group.mapping.40       "warehouse-2"\n');

  expect(await explain(world, "ü-1")).toMatchObject({
    state: "new",
    command: "groupsync sync --only 'ü-1'",
    desired: { user_group_id: "ü-1", name: "Größe", mapping: { "40": "w" }, properties: { plan: null } },
    confirmed: null,
    next_sync: { action: "create" },
    token: { fingerprint: null, stored: "none known" },
  });

  expect(await dump(world.database)).toEqual(untouched);
  expect(await world.requests()).toMatchObject({ total: 0 });
});
