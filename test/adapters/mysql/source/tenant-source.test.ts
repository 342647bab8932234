import { describe, expect, onTestFinished, test } from "vitest";
import { lookupsOf } from "../../../contracts/lookups.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import type { SourceOptions } from "../../../contracts/tenant-source.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { mysqlSource, sourceDatabase } from "../../sql/source/source-database.ts";

const read = (url: string, options: SourceOptions = { table: "customers" }) =>
  rowsOf(mysqlSource(url, options), ["id"]);

describe("the error of a failed read says why, and what to do:", () => {
  test("a database that isn't there", async () => {
    const { url } = await sourceDatabase("mysql");
    await expect(read(url, { table: "groupsync_nowhere.customers" })).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringContaining("groupsync_nowhere"),
      hint: expect.stringContaining("database"),
    });
  });

  test("a table that isn't there, to an account without a right to it: the name may be wrong", async () => {
    const { url } = await aRole(await sourceDatabase("mysql"));
    await expect(read(url)).rejects.toMatchObject({
      hint: expect.stringMatching(/^GRANT SELECT ON .*; or is the name wrong\? The server says the same/),
    });
  });

  test("a database that the account may not use", async () => {
    const { url } = await aRole(await sourceDatabase("mysql"));
    const { name } = await sourceDatabase("mysql");
    await expect(read(Object.assign(new URL(url), { pathname: `/${name}` }).href)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      hint: expect.stringContaining("grant"),
    });
  });
});

describe("a mistake in the config's SQL is reported as CONFIG_SOURCE:", () => {
  test.each<[string, SourceOptions]>([
    ["two statements", { query: "SELECT * FROM customers; DROP TABLE customers" }],
    ["an ambiguous name", { query: "SELECT id FROM customers AS a JOIN customers AS b" }],
    ["a function that isn't there", { table: "customers", where: "nothing(id)" }],
    ["a file to write", { query: "SELECT * FROM customers INTO OUTFILE '/tmp/groupsync'" }],
    ["a lock to take", { query: "SELECT * FROM customers FOR UPDATE" }],
    ["more than one column to compare", { table: "customers", where: "id = (SELECT 1, 2)" }],
  ])("%s", async (_, options) => {
    const { create, url, query } = await sourceDatabase("mysql");
    await create("customers", { id: "text" });
    await expect(read(url, options)).rejects.toMatchObject({
      code: "CONFIG_SOURCE",
      hint: expect.stringContaining(options.query === undefined ? "source.where" : "source.query"),
    });
    expect(await query("SELECT * FROM customers")).toEqual([]);
  });
});

describe("the config's SQL keeps its meaning:", () => {
  test.each<[string, SourceOptions]>([
    ["text in double quotes", { table: "customers", where: 'id = "a"' }],
    ["a name in backticks", { table: "customers", where: "`id` = 'a'" }],
    ["a comment to the end", { table: "customers", where: "id = 'a' # that one" }],
    ["another one", { query: "SELECT * FROM customers WHERE id = 'a' # that one" }],
    [
      "a column that is called like a function",
      { query: "SELECT id, 1 AS count FROM customers HAVING count" },
    ],
    ["a number for a condition", { table: "customers", where: "1", removedWhen: "deleted_at" }],
  ])("%s", async (_, options) => {
    const { create, insert, source } = await sourceDatabase("mysql");
    await create("customers", { id: "text", deleted_at: "timestamp" });
    await insert("customers", [{ id: "a", deleted_at: "2026-01-01 00:00:00" }]);
    expect(await rowsOf(source(options), ["id"])).toEqual([["a"]]);
  });
});

/** Customers, a user that may read them, and tokens and a ledger. */
async function aReader() {
  const { query, ...database } = await sourceDatabase("mysql");
  const { name: schema } = database;
  for (const table of ["customers", "tokens", "ledger"])
    await query(`CREATE TABLE ${table} (id varchar(10), token text)`);
  const reader = await aRole({ ...database, query });
  await query(`GRANT SELECT ON customers TO ${reader.name}`);
  const secrets = [
    { schema, table: "tokens", column: "token" },
    { schema, table: "ledger" },
    { schema, table: "nothing" },
    { schema: "nowhere", table: "tokens", column: "token" },
  ];
  const secretsOf = async ({ url }: Pick<Role, "url">) => {
    const source = mysqlSource(url, { table: "customers", sensitiveTables: async () => secrets });
    const snapshot = await source.open(["id"], "seed", NEVER);
    onTestFinished(() => snapshot.close());
    return snapshot.role();
  };
  return { query, schema, url: database.url, reader, secretsOf };
}

test("a user that reads the source can read no token and no ledger without a right to it", async () => {
  const { query, reader, secretsOf } = await aReader();
  await query(`GRANT INSERT, UPDATE, DELETE ON tokens TO ${reader.name}`);
  await query(`GRANT SELECT (id) ON tokens TO ${reader.name}`);
  expect(await secretsOf(reader)).toEqual({ name: `${reader.name}@%`, secrets: [], openSchemas: [] });
});

test.each([
  ["the table", "GRANT SELECT ON tokens TO ROLE"],
  ["the token's column", "GRANT SELECT (token) ON tokens TO ROLE"],
])("a right to %s is seen", async (_, statement) => {
  const { query, schema, reader, secretsOf } = await aReader();
  await query(statement.replace("ROLE", reader.name));
  expect(await secretsOf(reader)).toMatchObject({ secrets: [`${schema}.tokens`] });
});

test("so is one to the whole database", async () => {
  const { schema, url, reader, secretsOf } = await aReader();
  await reader.grant("SELECT");
  const all = { secrets: [`${schema}.ledger`, `${schema}.tokens`] };
  expect(await secretsOf(reader)).toMatchObject(all);
  expect(await secretsOf({ url })).toMatchObject(all);
});

test("single tenants of a view are found by the index for a user that may explain it, as docs/new-tenants.md says", async () => {
  const database = await sourceDatabase("mysql");
  const { query } = database;
  await query("CREATE TABLE customers (id varchar(40) PRIMARY KEY, name text)");
  await query("INSERT INTO customers VALUES ('a', 'Acme'), ('b', 'Brill')");
  await query("CREATE VIEW active_customers AS SELECT * FROM customers WHERE name <> 'Brill'");
  const reader = await aRole(database);
  await query(`REVOKE SHOW VIEW ON ${database.name}.* FROM ${reader.name}`);
  const looksByIndex = async (): Promise<boolean> => {
    const lookups = await lookupsOf(mysqlSource(reader.url, { table: "active_customers" }));
    expect((await lookups.rowsOf(["a", "b"])).map(({ cells }) => cells)).toEqual([["a", "Acme"]]);
    return lookups.isIndexed;
  };
  await query(`GRANT SELECT ON active_customers TO ${reader.name}`);
  expect(await looksByIndex()).toBe(false);
  await query(`GRANT SELECT, SHOW VIEW ON active_customers TO ${reader.name}`);
  expect(await looksByIndex()).toBe(false);
  await query(`GRANT SELECT ON customers TO ${reader.name}`);
  expect(await looksByIndex()).toBe(true);
  await query(`REVOKE SHOW VIEW ON active_customers FROM ${reader.name}`);
  expect(await looksByIndex()).toBe(false);
});

test("a table may be in another database than the url's, and the url may name none", async () => {
  const { name, query } = await sourceDatabase("mysql");
  const { url } = await sourceDatabase("mysql");
  await query("CREATE TABLE customers (id varchar(9))");
  await query("INSERT INTO customers VALUES ('a')");
  const where = "customers.id = 'a'";
  for (const one of [url, Object.assign(new URL(url), { pathname: "/" }).href])
    expect(await read(one, { table: `${name}.customers`, where })).toEqual([["a"]]);
});
