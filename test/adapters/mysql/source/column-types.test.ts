import { expect, test } from "vitest";
import { type Cell, Unusable } from "../../../../src/core/group/tenant.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { isMariadb } from "../../../support/mysql/is-mariadb.ts";
import { mysqlSource } from "../../sql/source/source-database.ts";

/** What the source makes of one SQL expression; `t` has one row. */
async function cellOf(expression: string): Promise<Cell> {
  const { url, query } = await freshDatabase("mysql");
  await query("CREATE TABLE t (flag boolean, j json, f float, d decimal(10, 2), e enum('x', 'y'))");
  await query(`INSERT INTO t VALUES (true, '{"a": [1]}', 0.1, 12.5, 'y')`);
  const source = mysqlSource(url, { query: `SELECT 'a' AS id, ${expression} AS value FROM t` });
  const [row] = await rowsOf(source, ["id", "value"]);
  return row?.[1] as Cell;
}

test.each<[expression: string, value: unknown]>([
  ["flag", true],
  // The server says no more of it than that it is a number.
  ["flag = 1", 1],
  ["IF(flag, 'yes', 'no')", "yes"],
  ["1 + 1", 2],
  ["count(*)", 1],
  ["1.50", "1.50"],
  ["d * 2", "25.00"],
  ["1e0 / 3", 1 / 3],
  ["f", 0.1],
  ["f * 1", 0.10000000149011612],
  ["NULL", null],
  ["coalesce(NULL, e)", "y"],
  ["j", { a: [1] }],
  ["json_extract(j, '$.a')", [1]],
  [
    "json_object('big', 9007199254740993, '__proto__', 1)",
    JSON.parse('{"big":"9007199254740993","__proto__":1}'),
  ],
  ["timestamp('2026-03-01 09:30:00')", "2026-03-01T09:30:00.000Z"],
  ["date('2026-03-01')", "2026-03-01"],
  ["timestamp('2026-03-01') + INTERVAL 1 MICROSECOND", "2026-03-01T00:00:00.000001Z"],
  ["concat('a', char(0 USING utf8mb4), '\\\\', '''', 'b')", "a\0\\'b"],
  ["repeat('ü', 1000000)", "ü".repeat(1_000_000)],
])("%s becomes %j", async (expression, value) => {
  expect(await cellOf(expression)).toEqual(value);
});

test("a view's columns are those of its table", async () => {
  const { url, query } = await freshDatabase("mysql");
  await query("CREATE TABLE customers (id varchar(9), flag boolean, j json, b bit(1), n int(4) zerofill)");
  await query(`INSERT INTO customers VALUES ('a', true, '[1]', b'1', 7)`);
  await query("CREATE VIEW active AS SELECT * FROM customers");
  const rows = await rowsOf(mysqlSource(url, { table: "active" }), ["id", "flag", "j", "b", "n"]);
  expect(rows).toEqual([["a", true, [1], true, 7]]);
});

test("JSON that MariaDB takes for valid and JavaScript doesn't costs its own row alone", async ({ skip }) => {
  const { url, query } = await freshDatabase("mysql");
  if (!(await isMariadb(query))) skip("MySQL parses JSON as JavaScript does");
  await query("CREATE TABLE customers (id varchar(9), plan json)");
  await query(
    `INSERT INTO customers VALUES ('a', '{"note":"it\\\\''s"}'), ('b', '{"v":1.}'), ('c', '[-]'), ('d', '{"v":1}')`,
  );
  const unusable = new Unusable("holds text that is not JSON");
  expect(await rowsOf(mysqlSource(url, { table: "customers" }), ["id", "plan"])).toEqual([
    ["a", unusable],
    ["b", unusable],
    ["c", unusable],
    ["d", { v: 1 }],
  ]);
});
