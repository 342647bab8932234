import { expect, inject, onTestFinished, test } from "vitest";
import { lookupsOf } from "../../../contracts/lookups.ts";
import { NEVER, readAll, rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { changeReader, SOURCES } from "./source-database.ts";

const kind = inject("databaseKind");

/** Customers with a secret, and a role that may read these columns of them. */
async function aStage(granted: string, place = "customers") {
  const database = await freshDatabase();
  await database.query(
    "CREATE TABLE customers (id varchar(40) PRIMARY KEY, name varchar(40), changed int, secret varchar(40))",
  );
  await database.query("CREATE INDEX customers_changed ON customers (changed)");
  await database.query("INSERT INTO customers VALUES ('a', 'Acme', 1, 'x'), ('b', 'Brill', 2, 'y')");
  await database.query("CREATE VIEW clients AS SELECT * FROM customers");
  const { name, url } = await aRole(database);
  await database.query(`GRANT SELECT (${granted}) ON ${place} TO ${name}`);
  return { database, name, url };
}

test.each([
  ["a table", "customers", { table: "customers" }],
  ["a view", "clients", { table: "clients" }],
  [
    "a table, with conditions",
    "customers",
    { table: "customers", where: "changed > 0", removedWhen: "changed = 9" },
  ],
  ["a query", "customers", { query: "SELECT id, name FROM customers WHERE changed > 0" }],
])("rights to the columns in use are enough to read %s and to look tenants up", async (_, place, options) => {
  const { url } = await aStage("id, name, changed", place);
  const source = SOURCES[kind](url, options);
  const { buckets, rows } = await readAll(source, ["id", "name"]);
  expect(rows.map(({ cells }) => cells)).toEqual([
    ["a", "Acme"],
    ["b", "Brill"],
  ]);
  expect(buckets.length).toBeGreaterThan(0);
  const lookups = await lookupsOf(source);
  expect((await lookups.rowsOf(["b"])).map(({ cells }) => cells)).toEqual([["b", "Brill"]]);
  if (place === "customers") expect(lookups.isIndexed).toBe(true);
  const snapshot = await source.open(["id", "name"], "seed", NEVER);
  onTestFinished(() => snapshot.close());
  expect(await snapshot.role()).toMatchObject({ secrets: [] });
});

test("rights to the columns in use are enough for the change column", async () => {
  const { url } = await aStage("id, name, changed");
  const reader = await changeReader({ kind, url }, { columns: ["id", "name"] });
  expect(await reader.newest()).toMatchObject({ value: "2" });
  const from = { value: "1", isIncluded: false };
  expect(await reader.rows(from, 9)).toMatchObject([{ user_group_id: "b" }]);
  expect(await reader.missingIndex(from)).toBeNull();
});

test("a column without the right is named, with the statement that grants it", async () => {
  const { database, name, url } = await aStage("id");
  const read = () => rowsOf(SOURCES[kind](url, { table: "customers" }), ["id", "name"]);
  const error = await read().catch((thrown) => thrown);
  expect(error).toMatchObject({ code: "SOURCE_UNAVAILABLE", message: expect.stringContaining("name") });
  const [statement = ""] = /^GRANT SELECT \(.name.\) ON \S+ TO [^\s,]+/.exec(error.hint) ?? [];
  expect(statement).toContain(name);
  await database.query(statement);
  expect(await read()).toEqual([
    ["a", "Acme"],
    ["b", "Brill"],
  ]);
  const filtered = SOURCES[kind](url, { table: "customers", where: "secret = 'x'" });
  await expect(rowsOf(filtered, ["id", "name"])).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    hint: expect.stringMatching(
      /^find out why customers needs that.* Conditions in source need SELECT on each column that they read$/,
    ),
  });
  await expect(rowsOf(SOURCES[kind](url, { table: "customers" }), ["id", "plan"])).rejects.toMatchObject({
    code: "CONFIG_COLUMNS",
    message: "customers has no column plan",
    hint: expect.stringContaining("id, name"),
  });
});
