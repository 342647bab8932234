import { expect } from "vitest";
import { parse } from "yaml";
import { onOneDatabase } from "../../support/databases/on-one-database.ts";
import { sectionYaml } from "../../support/pages.ts";
import { passHours } from "../daemon/pass-time.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

const recipe = (heading: string): readonly ConfigChanges[] =>
  sectionYaml("docs/environments.md", heading).map((yaml) => parse(yaml));

/** Without the keys that lead to a place, because the world has its own. */
function here(config: ConfigChanges | undefined, { sandbox }: World): ConfigChanges {
  const { source, service, ...others } = config ?? {};
  const { url: _, ...rows } = Object(source);
  return {
    ...others,
    source: rows,
    service: { ...Object(service), base_url: sandbox.baseUrl, api_key: sandbox.apiKey },
  };
}

const idsOf = (groups: Awaited<ReturnType<World["groups"]>>): string[] =>
  groups.map(({ user_group_id }) => user_group_id);

onOneDatabase("soft delete: the group of a flagged row goes, and that of a vanished row stays", async () => {
  const world = await aWorld({ tenants: 4 });
  await world.database.query("ALTER TABLE customers ADD deleted_at timestamp");
  const [config] = recipe("Soft delete");
  await world.configure(here(config, world));
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 4 } });
  await world.database.query("UPDATE customers SET deleted_at = '2026-01-01' WHERE id = 't-00001'");
  await world.removeTenants(2, 2);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 0, missing: 2 } });
  await passHours(world, 7 * 24 + 1);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, missing: 1 } });
  expect(idsOf(await world.groups())).toEqual(["t-00002", "t-00003", "t-00004"]);
});

onOneDatabase("not ready: a tenant without a warehouse waits, and that is no mistake", async () => {
  const world = await aWorld({ tenants: 2 });
  await world.database.query("UPDATE customers SET warehouse = NULL WHERE id = 't-00001'");
  const [config] = recipe("Tenants that aren't ready");
  await world.configure(here(config, world));
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1, not_ready: 1 } });
  await world.database.query("UPDATE customers SET warehouse = 'w' WHERE id = 't-00001'");
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1, not_ready: 0 } });
});

onOneDatabase("several dashboards: each config has groups and tokens of its own in one ledger", async () => {
  const [sales, support] = recipe("Several dashboards");
  const first = await aWorld({ tenants: 2 });
  const second = await aWorld({ tenants: 0, service: { teamId: 2 } });
  second.env.DATABASE_URL = first.database.url;
  await first.configure(here(sales, first));
  await second.configure(here(support, second));
  for (const world of [first, second])
    expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2 } });
  expect(await tokensIn(first, "sales_tokens")).toEqual(await first.live());
  expect(await tokensIn(first, "support_tokens")).toEqual(await second.live());
});

onOneDatabase("several regions: a tenant that moves has a group in its new region at once", async () => {
  const [eu, us] = recipe("Several regions");
  const first = await aWorld({ tenants: 2 });
  const second = await aWorld({ tenants: 0, service: { teamId: 2 } });
  const { query } = first.database;
  await query("ALTER TABLE customers ADD region varchar(9)");
  await query("UPDATE customers SET region = CASE id WHEN 't-00001' THEN 'eu' ELSE 'us' END");
  second.env.DATABASE_URL = first.database.url;
  await first.configure(here(eu, first));
  await second.configure(here(us, second));
  for (const world of [first, second])
    expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1 } });
  await first.addTenants(3, 3);
  await query("UPDATE customers SET region = 'eu' WHERE id IN ('t-00002', 't-00003')");
  expect(await first.sync()).toMatchObject({ code: 0, report: { created: 2 } });
  await query("UPDATE customers SET region = 'us' WHERE id = 't-00001'");
  expect(await second.sync()).toMatchObject({ code: 0, report: { created: 1, missing: 1 } });
  expect(await first.sync()).toMatchObject({ code: 0, report: { missing: 1 } });
  await passHours(first, 25);
  expect(await first.sync()).toMatchObject({ code: 0, report: { deleted: 1 } });
  expect(idsOf(await first.groups())).toEqual(["t-00002", "t-00003"]);
});

onOneDatabase("every deletion approved: nothing goes without the code", async () => {
  const world = await aWorld({ tenants: 5 });
  const [config] = recipe("Every deletion approved");
  await world.configure(
    here({ ...config, deletion: { ...Object(config?.deletion), grace_period: "0s" } }, world),
  );
  expect((await world.sync()).code).toBe(0);
  await world.removeTenants(1, 1);
  const held = await world.sync();
  expect(held).toMatchObject({ code: 4, report: { deleted: 0, held: 1 } });
  const code = String(held.report.held_code);
  expect(await world.sync("--approve-deletions", code)).toMatchObject({ code: 0, report: { deleted: 1 } });
});

async function tokensIn({ database }: World, table: string): Promise<Readonly<Record<string, string>>> {
  const rows = await database.query<{ user_group_id: string; token: string }>(
    `SELECT user_group_id, token FROM ${table} ORDER BY user_group_id`,
  );
  return Object.fromEntries(rows.map(({ user_group_id, token }) => [user_group_id, token]));
}
