import { expect, inject, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { aRole } from "../../support/databases/role.ts";
import { aWorld, type World } from "../world.ts";

const onPostgres = test.runIf(inject("databaseKind") === "postgres");

/** A world in which everybody may create tables in public, as before PostgreSQL 15. */
async function aSharedWorld(): Promise<{ world: World; role: string; mallory: string }> {
  const world = await aWorld({ database: await freshDatabase(), tenants: 3 });
  const { name: mallory } = await aRole(world.database);
  const { name: role, url } = await aRole(world.database);
  world.env.DATABASE_URL = url;
  await world.database.query("GRANT ALL ON SCHEMA public TO public");
  await world.database.query(`GRANT SELECT ON customers TO ${role}`);
  return { world, role, mallory };
}

onPostgres("tenants are read from no other table than before, whatever comes in front of it", async () => {
  const { world, role, mallory } = await aSharedWorld();
  const { database } = world;
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  await database.query(`CREATE SCHEMA ${role} AUTHORIZATION ${mallory}`);
  await database.query(`CREATE TABLE ${role}.customers AS SELECT * FROM public.customers`);
  await database.query(`UPDATE ${role}.customers SET company_name = 'theirs'`);
  await database.query(`GRANT ALL ON SCHEMA ${role} TO public`);
  await database.query(`GRANT ALL ON ${role}.customers TO public`);
  for (const command of ["plan", "sync"]) {
    const { code, stdout, stderr } = await world.run(command);
    expect(code).toBe(78);
    expect(stdout + stderr).toContain(`now leads to ${role}.customers`);
  }
  expect(await world.requests()).toMatchObject({ total: 0 });
  await world.configure({ source: { table: `${role}.customers` } });
  const { code, stdout } = await world.run("plan");
  expect(code).toBe(0);
  expect(stdout).toContain("theirs");
  await database.query(`DROP SCHEMA ${role} CASCADE`);
});

onPostgres("a customers' table in front of the one that tokens went to gets none", async () => {
  const { world, role, mallory } = await aSharedWorld();
  const { database } = world;
  await database.query(`GRANT UPDATE ON customers TO ${role}`);
  const tokens = { table: "customers", rows: "existing", id_column: "id", token_column: "dashboard_token" };
  await world.configure({ tokens });
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  await database.query(`CREATE SCHEMA ${role} AUTHORIZATION ${mallory}`);
  await database.query(`GRANT ALL ON SCHEMA ${role} TO public`);
  await database.query(`CREATE TABLE ${role}.customers AS SELECT * FROM public.customers`);
  await database.query(`GRANT ALL ON ${role}.customers TO public`);
  for (const command of [["plan"], ["sync"], ["rotate", "--all", "--yes"]]) {
    const { code, stdout, stderr } = await world.run(...command);
    expect(code).toBe(78);
    expect(stdout + stderr).toContain(`now leads to ${role}.customers`);
  }
  expect(await world.requests()).toMatchObject({ total: 0 });
  // A restored dump: the names are the same, but to the server this is another table.
  await database.query(`DROP SCHEMA ${role} CASCADE`);
  await database.query("CREATE TABLE copy AS SELECT * FROM customers");
  await database.query("DROP TABLE customers");
  await database.query("ALTER TABLE copy RENAME TO customers");
  await database.query(`GRANT SELECT, UPDATE ON customers TO ${role}`);
  expect((await world.sync()).code).toBe(0);
});
