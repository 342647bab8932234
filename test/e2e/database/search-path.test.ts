import { expect, inject, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { aRole, type Role } from "../../support/databases/role.ts";
import { type Planted, plantOverloads } from "../../support/postgres/overloads.ts";
import { aWorld, type ConfigChanges, idOf, type World } from "../world.ts";

interface Attacked {
  readonly world: World;
  readonly planted: Planted;
}

/**
 * A world whose role looks names up in public first. There, a role without rights on its tables has planted overloads.
 */
async function anAttackedWorld(config: ConfigChanges, setUp: readonly string[] = []): Promise<Attacked> {
  const world = await aWorld({
    database: await freshDatabase(),
    tenants: 4,
    service: { existing: "update" },
    config: { deletion: { grace_period: "0s" }, ...config },
  });
  const { query } = world.database;
  const ours = await aRole(world.database);
  const theirs: Role = await aRole(world.database);
  for (const statement of [
    ...setUp,
    "GRANT CREATE ON SCHEMA public TO PUBLIC",
    `GRANT SELECT, UPDATE ON customers TO ${ours.name}`,
    `ALTER ROLE ${ours.name} SET search_path = public, pg_catalog`,
  ]) {
    await query(statement);
  }
  const planted = await plantOverloads(world.database, theirs);
  world.env.DATABASE_URL = ours.url;
  return { world, planted };
}

/** Everything that groupsync does with its databases, once. */
async function everything(world: World): Promise<void> {
  expect(await world.run("plan")).toMatchObject({ code: 0 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 4 } });
  await world.database.query(`UPDATE customers SET company_name = 'Another' WHERE id = '${idOf(2)}'`);
  await world.removeTenants(1, 1);
  await world.addTenants(5, 6);
  expect(await world.run("plan")).toMatchObject({ code: 0 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2, deleted: 1 } });
  expect(await world.rotate("--all", "--yes")).toMatchObject({ code: 0 });
  expect(await world.sync("--verify-tokens")).toMatchObject({ code: 0 });
  expect((await world.status()).groups).toMatchObject({ total: 5, in_sync: 5 });
}

/**
 * The config's conditions are looked up in the role's search_path. These conditions name PostgreSQL's own operators.
 */
const WHERE = {
  where: "company_name OPERATOR(pg_catalog.<>) 'nobody'",
  removed_when: "plan OPERATOR(pg_catalog.=) 'none'",
};
const IN_ROWS = {
  tokens: { table: "customers", rows: "existing", id_column: "id", token_column: "dashboard_token" },
};
const A_QUERY = { source: { table: undefined as never, query: "SELECT * FROM customers" } };
const citext = ["CREATE EXTENSION citext", "ALTER TABLE customers ALTER COLUMN id TYPE citext"];

test.skipIf(inject("databaseKind") !== "postgres").each<[string, ConfigChanges, string[]]>([
  ["a table, tokens in a table of their own", { source: WHERE }, []],
  ["a query, tokens in rows whose ids are varchar", { ...A_QUERY, ...IN_ROWS }, []],
  ["tokens in rows whose ids are citext", IN_ROWS, citext],
])("nobody's overload is run: %s", async (_, config, setUp) => {
  const { world, planted } = await anAttackedWorld(config, setUp);
  const ended = await everything(world).catch((error: unknown) => error);
  expect(await planted.called()).toEqual([]);
  if (ended) throw ended;
});
