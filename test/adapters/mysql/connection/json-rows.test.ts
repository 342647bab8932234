import { expect, test } from "vitest";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { mysqlSource } from "../source/source-database.ts";

/** MySQL sorts JSON with the ids, in a buffer that has room for less than this by default; MariaDB doesn't. */
test("one large JSON value does not keep the other rows from being read", async () => {
  const { url, query } = await freshDatabase("mysql");
  await query("CREATE TABLE customers (id varchar(9) PRIMARY KEY, settings json)");
  await query(
    `INSERT INTO customers VALUES ('large', CONCAT('["', REPEAT('x', 4000000), '"]')), ('a', '[]')`,
  );
  const rows = await rowsOf(mysqlSource(url, { table: "customers" }), ["id", "settings"]);
  expect(rows).toEqual([
    ["a", []],
    ["large", ["x".repeat(4_000_000)]],
  ]);
});
