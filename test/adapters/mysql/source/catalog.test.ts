import { expect, test } from "vitest";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { catalogOf, tableOf } from "../../sql/source/catalog-of.ts";

test("choices and TINYINT(1) have kinds of their own", async () => {
  const database = await freshDatabase("mysql");
  await database.query(
    `CREATE TABLE customers (a binary(16), b blob, c enum('x'), d tinyint(1), e tinyint, f bit(1), g bit(8), h datetime(6),
       i json, j int unsigned, k longtext)`,
  );
  const { columns } = await tableOf(database, "customers");
  expect(columns.map(({ kind }) => kind)).toEqual([
    "other",
    "other",
    "other",
    "boolean",
    "integer",
    "boolean",
    "other",
    "timestamp",
    // MariaDB's JSON is a text with a check.
    expect.stringMatching(/^(other|text)$/),
    "integer",
    "text",
  ]);
});

test("a table with a column that the user may not read is not readable", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id int PRIMARY KEY, name varchar(9))");
  const { name, url } = await aRole(database);
  const isReadable = async () => (await tableOf({ kind: "mysql", url }, "customers")).isReadable;
  await database.query(`GRANT SELECT (id), INSERT (name) ON customers TO ${name}`);
  expect(await isReadable()).toBe(false);
  await database.query(`GRANT SELECT (name) ON customers TO ${name}`);
  expect(await isReadable()).toBe(true);
});

test("without a database in the url, the tables of all databases but the server's are there", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id int PRIMARY KEY)");
  const whole = Object.assign(new URL(database.url), { pathname: "" });
  const catalog = await catalogOf({ kind: "mysql", url: whole.href });
  expect(catalog.database).toBeNull();
  const schemas = new Set(catalog.tables.map(({ schema }) => schema));
  expect(schemas).toContain(database.name);
  for (const own of ["mysql", "sys", "information_schema", "performance_schema"])
    expect(schemas).not.toContain(own);
});
