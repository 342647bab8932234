import { expect, test } from "vitest";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aGroup, aRole } from "../../../support/databases/role.ts";
import { catalogOf, tableOf } from "../../sql/source/catalog-of.ts";

test("a domain counts as the type below, an enum as a choice, and an array as nothing", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE DOMAIN slug AS varchar(20)");
  await database.query("CREATE TYPE plan AS ENUM ('free')");
  await database.query(
    `CREATE TABLE customers (a slug, b plan, c text[], d uuid, e timestamptz, f jsonb, g bytea, h inet)`,
  );
  const { columns } = await tableOf(database, "customers");
  expect(columns.map(({ kind }) => kind)).toEqual([
    "text",
    "other",
    "other",
    "uuid",
    "timestamp",
    "other",
    "other",
    "other",
  ]);
});

test("a type counts by what it is, and not by its name", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE EXTENSION citext");
  await database.query("CREATE SCHEMA theirs");
  for (const name of ["uuid", "text", "citext"])
    await database.query(`CREATE TYPE theirs.${name} AS (x int)`);
  await database.query("CREATE DOMAIN theirs.name AS theirs.text");
  await database.query(
    "CREATE TABLE customers (a theirs.uuid, b theirs.text, c theirs.citext, d theirs.name, e citext)",
  );
  const { columns } = await tableOf(database, "customers");
  expect(columns.map(({ kind }) => kind)).toEqual(["other", "other", "other", "other", "text"]);
});

test("tables of the user and of its groups are its own, and what strangers make of themselves is not", async () => {
  const database = await freshDatabase("postgres");
  const [user, stranger] = [await aRole(database), await aRole(database)];
  const [group, theirs] = [await aGroup(database, "team"), await aGroup(database, "theirs")];
  await database.query(`GRANT ${group} TO ${user.name}`);
  // A role that can log in is no group. Up to PostgreSQL 14 the stranger may do this.
  await database.query(`GRANT ${stranger.name} TO ${user.name}`);
  await database.query(`GRANT ${theirs} TO ${stranger.name} WITH ADMIN OPTION`);
  await stranger.run(`GRANT ${theirs} TO ${user.name}`);
  for (const name of [user.name, group, stranger.name, theirs]) {
    await database.query(`CREATE SCHEMA ${name} AUTHORIZATION ${name}`);
    await database.query(
      `CREATE TABLE ${name}.tenants (id int PRIMARY KEY, up int REFERENCES ${name}.tenants)`,
    );
    await database.query(`CREATE TABLE ${name}.users (tenant int REFERENCES ${name}.tenants)`);
    for (const table of ["tenants", "users"])
      await database.query(`ALTER TABLE ${name}.${table} OWNER TO ${name}`);
  }
  const ownersOf = async (url: string, isOurs: boolean) => {
    const { tables } = await catalogOf({ ...database, url });
    return tables.filter((one) => one.isOurs === isOurs && one.name === "tenants").map(({ owner }) => owner);
  };
  expect(await ownersOf(user.url, true)).toEqual([user.name, group].toSorted());
  expect(await ownersOf(user.url, false)).toEqual([stranger.name, theirs].toSorted());
  await database.query(`ALTER ROLE ${user.name} SUPERUSER`);
  expect(await ownersOf(user.url, true)).toEqual([user.name]);
});

test("an index over some of the rows, or on an expression, says nothing of the column", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE TABLE customers (a text, b text, c text)");
  await database.query("CREATE UNIQUE INDEX ON customers (a) WHERE b IS NULL");
  await database.query("CREATE UNIQUE INDEX ON customers (lower(b))");
  await database.query("CREATE UNIQUE INDEX ON customers (c) INCLUDE (b)");
  const { columns } = await tableOf(database, "customers");
  expect(columns.map(({ key, isIndexed }) => [key, isIndexed])).toEqual([
    [null, false],
    [null, false],
    ["unique", true],
  ]);
});

test("a partitioned table is there once, and tables of every schema are", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE SCHEMA app");
  await database.query("CREATE TABLE app.customers (id int PRIMARY KEY) PARTITION BY RANGE (id)");
  await database.query("CREATE TABLE app.customers_1 PARTITION OF app.customers FOR VALUES FROM (0) TO (9)");
  await database.query("CREATE TABLE public.users (customer int REFERENCES app.customers)");
  await database.query("CREATE MATERIALIZED VIEW app.active AS SELECT id FROM app.customers");
  await database.query("CREATE TEMPORARY TABLE passing (id int)");
  const { tables } = await catalogOf(database);
  expect(
    tables.map(({ schema, name, kind, columns }) => [schema, name, kind, columns[0]?.refersTo?.table]),
  ).toEqual([
    ["app", "active", "view", undefined],
    ["app", "customers", "table", undefined],
    ["public", "users", "table", "customers"],
  ]);
});

test("thousands of tables are read at once", async () => {
  const database = await freshDatabase("postgres");
  await database.query(
    `DO $$ BEGIN
       FOR n IN 1..3000 LOOP EXECUTE format('CREATE TABLE t%s (id int, name text)', n); END LOOP;
     END $$`,
  );
  expect((await catalogOf(database)).tables).toHaveLength(3_000);
});
