import { expect, test } from "vitest";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { catalogOf, tableOf } from "./catalog-of.ts";

test("an empty database has no tables", async () => {
  const database = await freshDatabase();
  expect(await catalogOf(database)).toEqual({ dialect: database.kind, database: database.name, tables: [] });
});

test("tables and views are there, and groupsync's own tables are not", async () => {
  const database = await freshDatabase();
  await database.query("CREATE TABLE customers (id int PRIMARY KEY)");
  await database.query("CREATE TABLE groupsync_groups (id int PRIMARY KEY)");
  await database.query("CREATE TABLE groupsyncs (id int PRIMARY KEY)");
  await database.query("CREATE VIEW active AS SELECT id FROM customers");
  const { tables } = await catalogOf(database);
  const schema = database.kind === "postgres" ? "public" : database.name;
  expect(tables.map((table) => [table.schema, table.name, table.kind]).toSorted()).toEqual([
    [schema, "active", "view"],
    [schema, "customers", "table"],
    [schema, "groupsyncs", "table"],
  ]);
  expect(tables.find(({ kind }) => kind === "view")?.columns).toMatchObject([
    { name: "id", kind: "integer", key: null, isIndexed: false },
  ]);
});

test("a column has its kind, whether it can be null, and its order", async () => {
  const database = await freshDatabase();
  await database.query(
    `CREATE TABLE customers (zeta varchar(9) NOT NULL, a_text text, a_char char(3), an_int bigint, a_number numeric(9,2),
       a_boolean boolean, a_time timestamp NULL, a_day date)`,
  );
  const { columns } = await tableOf(database, "customers");
  expect(columns.map(({ name, kind, isNullable }) => [name, kind, isNullable])).toEqual([
    ["zeta", "text", false],
    ["a_text", "text", true],
    ["a_char", "text", true],
    ["an_int", "integer", true],
    ["a_number", "other", true],
    ["a_boolean", "boolean", true],
    ["a_time", "timestamp", true],
    ["a_day", "date", true],
  ]);
});

test("a key is one column alone, and an index counts by its first column", async () => {
  const database = await freshDatabase();
  await database.query("CREATE TABLE one (id int PRIMARY KEY, code int UNIQUE, maybe int, other int)");
  await database.query("CREATE INDEX one_maybe ON one (maybe, other)");
  await database.query("CREATE TABLE two (a int, b int, c int, PRIMARY KEY (a, b))");
  await database.query("CREATE UNIQUE INDEX two_c ON two (c, b)");
  const keysOf = async (name: string) =>
    (await tableOf(database, name)).columns.map(({ name, key, isIndexed }) => [name, key, isIndexed]);
  expect(await keysOf("one")).toEqual([
    ["id", "primary", true],
    ["code", "unique", true],
    ["maybe", null, true],
    ["other", null, false],
  ]);
  expect(await keysOf("two")).toEqual([
    ["a", null, true],
    ["b", null, false],
    ["c", null, true],
  ]);
});

test("a column is no key alone if the user may not see the other columns of the key", async () => {
  const database = await freshDatabase();
  const role = await aRole(database);
  await database.query("CREATE TABLE customers (id int, region int, name text, PRIMARY KEY (id, region))");
  await database.query("CREATE TABLE others (id int NOT NULL, region int NOT NULL, UNIQUE (id, region))");
  await database.query(`GRANT SELECT (id) ON customers TO ${role.name}`);
  await database.query(`GRANT SELECT (id) ON others TO ${role.name}`);
  const { tables } = await catalogOf({ ...database, url: role.url });
  const ids = tables.flatMap(({ columns }) => columns.filter(({ name }) => name === "id"));
  expect(ids.map(({ key, isIndexed }) => [key, isIndexed])).toEqual([
    [null, true],
    [null, true],
  ]);
});

test("names that differ by an accent alone are different names", async () => {
  const database = await freshDatabase();
  await database.query('CREATE TABLE kunde (id int PRIMARY KEY, a int, "ä" int UNIQUE)');
  await database.query('CREATE TABLE "kundé" (code int, id int REFERENCES kunde (id))');
  await database.query("CREATE VIEW seen AS SELECT a FROM kunde");
  await database.query('CREATE VIEW "séen" AS SELECT id FROM kunde');
  const { tables } = await catalogOf(database);
  const keys = tables.map(
    ({ name, columns }) => [name, columns.map(({ name, key }) => [name, key])] as const,
  );
  expect(Object.fromEntries(keys)).toEqual({
    kunde: [
      ["id", "primary"],
      ["a", null],
      ["ä", "unique"],
    ],
    kundé: [
      ["code", null],
      ["id", null],
    ],
    seen: [["a", null]],
    séen: [["id", null]],
  });
});

test("a foreign key of one column names the column that it leads to", async () => {
  const database = await freshDatabase();
  await database.query("CREATE TABLE customers (id int PRIMARY KEY)");
  await database.query("CREATE TABLE regions (id int PRIMARY KEY)");
  await database.query(
    `CREATE TABLE transfers (sender int, amount int,
       FOREIGN KEY (sender) REFERENCES customers (id), FOREIGN KEY (sender) REFERENCES regions (id))`,
  );
  const schema = database.kind === "postgres" ? "public" : database.name;
  const linksOf = async (name: string) =>
    (await tableOf(database, name)).columns.map(({ refersTo }) => refersTo);
  expect(await linksOf("customers")).toEqual([null]);
  expect(await linksOf("transfers")).toEqual([
    { schema, table: expect.stringMatching(/^(customers|regions)$/), column: "id" },
    null,
  ]);
});

test("names come as they are, whatever is in them", async () => {
  const database = await freshDatabase();
  const odd = `Küche "it's"; -- \`x\`.y $1 \\ %`;
  const sql = `"${odd.replaceAll('"', '""')}"`;
  await database.query(`CREATE TABLE ${sql} (${sql} int PRIMARY KEY, "group" int)`);
  const { columns } = await tableOf(database, odd);
  expect(columns.map(({ name }) => name)).toEqual([odd, "group"]);
});

test("a table that the user may not read is not there, or known as such", async () => {
  const database = await freshDatabase();
  await database.query("CREATE TABLE customers (id int PRIMARY KEY, name varchar(9))");
  await database.query("CREATE TABLE secrets (id int PRIMARY KEY, name varchar(9))");
  const { name, url } = await aRole(database);
  await database.query(`GRANT SELECT ON customers TO ${name}`);
  const { tables } = await catalogOf({ ...database, url });
  const readable = tables.filter(({ isReadable }) => isReadable);
  expect(readable.map((table) => table.name)).toEqual(["customers"]);
  expect(readable[0]?.columns).toMatchObject([{ name: "id", key: "primary" }, { name: "name" }]);
});

test("a database that can't be reached is a failed run, and its message has no password", async () => {
  const { kind, url } = await freshDatabase();
  const nobody = Object.assign(new URL(url), { port: "1", password: "s3cret" });
  const error: Error = await catalogOf({ kind, url: nobody.href }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: "SOURCE_UNAVAILABLE", hint: expect.stringContaining("host and port") });
  expect(JSON.stringify(error) + error.message).not.toContain("s3cret");
});
