import fc from "fast-check";
import { expect, test } from "vitest";
import { withValues } from "../../../../src/adapters/mysql/connection/statement.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { rounds } from "../../../support/long.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { mysqlSource } from "../../sql/source/source-database.ts";

test("each parameter takes its value, as often as it is named", () => {
  expect(withValues("SELECT $1, $2, $1 WHERE $10 = $2", [1, "b", 3, 4, 5, 6, 7, 8, 9, true])).toBe(
    "SELECT 1, 'b', 1 WHERE true = 'b'",
  );
});

test.each([
  ["in a text", "SELECT '$1 it''s \\' $1' || $1", "SELECT '$1 it''s \\' $1' || 7"],
  ["in a name", 'SELECT "a$1""$1" + $1', 'SELECT "a$1""$1" + 7'],
  ["in a name of MySQL's own", "SELECT `a$1``$1` + $1", "SELECT `a$1``$1` + 7"],
])("what looks like a parameter %s is none", (_, text, expected) => {
  expect(withValues(text, [7])).toBe(expected);
});

test("a value is no parameter either", () => {
  expect(withValues("SELECT $1, $2", ["$2", "'"])).toBe("SELECT '$2', '\\''");
});

test("an array is a list, and nothing is in an empty one", async () => {
  const { url } = await freshDatabase("mysql");
  const database = aDatabase(url, "mysql");
  const isIn = async (value: unknown, list: unknown[]): Promise<boolean> =>
    Number(
      (await database.query<{ found: unknown }>("SELECT $1 IN ($2) AS found", [value, list]))[0]?.found,
    ) === 1;
  expect(await isIn("b", ["a", "b"])).toBe(true);
  expect(await isIn("c", ["a", "b"])).toBe(false);
  expect(await isIn("", [])).toBe(false);
  expect(await isIn(0, [])).toBe(false);
});

test("what can't be a value is refused", () => {
  expect(() => withValues("SELECT $1", [{ toString: () => "1" }])).toThrow(TypeError);
});

test("any text arrives as it is", async () => {
  const { url } = await freshDatabase("mysql");
  const database = aDatabase(url, "mysql");
  const texts = fc.array(
    fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\\", "'", "\0", "\n", "$1", "?", "😀")),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (parts) => {
      const text = parts.join("");
      const [row] = await database.query<{ hex: string }>("SELECT HEX($1) AS hex", [text]);
      expect(Buffer.from(row?.hex ?? "", "hex").toString()).toBe(text);
    }),
    { numRuns: rounds(700) },
  );
});

test("times arrive as they are, whatever the time zone of the server and of this process", async () => {
  const { url } = await freshDatabase("mysql");
  const database = aDatabase(url, "mysql");
  const time = new Date("2026-03-29T01:30:00.123Z");
  const [row] = await database.query("SELECT CAST($1 AS DATETIME(6)) AS time, UNIX_TIMESTAMP($1) AS unix", [
    time,
  ]);
  expect(row).toEqual({ time, unix: "1774747800.123" });
});

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
