import { describe, expect, test } from "vitest";
import { compareIds, MAX_ID_BYTES } from "../../../src/core/id.ts";
import { rowsOf } from "../../contracts/rows-of.ts";
import { type FreshDatabase, freshDatabase } from "../../support/fresh-database.ts";
import { isMariadb } from "../../support/is-mariadb.ts";
import { mysqlSource } from "./source-database.ts";

const idsOf = async (url: string): Promise<unknown[]> =>
  (await rowsOf(mysqlSource(url, { table: "customers" }), ["id"])).map(([id]) => id);

/** A table of customers with these ids. */
async function customers(type: string, ids: readonly string[]): Promise<FreshDatabase> {
  const database = await freshDatabase("mysql");
  await database.query(`CREATE TABLE customers (id ${type})`);
  for (const id of ids) await database.query("INSERT INTO customers VALUES ($1)", [id]);
  return database;
}

describe("an id column", () => {
  test.each([
    ["varchar(3)", ["b", "a"], ["a", "b"]],
    ["varchar(3) collate utf8mb4_general_ci", ["b", "a", "B", "á", "a "], ["B", "a", "a ", "b", "á"]],
    ["varchar(3) collate utf8mb4_bin", ["b", "a\t", "a ", "a"], ["a", "a\t", "a ", "b"]],
    ["varchar(3) character set latin1", ["ÿ", "é", "z", "÷"], ["z", "é", "÷", "ÿ"]],
    ["varchar(3) character set utf16", ["\u{10000}", "\uffff", "a"], ["a", "\uffff", "\u{10000}"]],
    ["varchar(3) character set cp1251", ["я", "a", "Ж"], ["a", "Ж", "я"]],
    ["char(3)", ["b", "a  ", "a\t"], ["a", "a\t", "b"]],
    ["longtext", ["b", "a"], ["a", "b"]],
    ["tinyint", ["9", "10", "-1"], ["-1", "10", "9"]],
    ["smallint unsigned", ["9", "10", "65535"], ["10", "65535", "9"]],
    ["mediumint", ["9", "10", "-1"], ["-1", "10", "9"]],
    ["int(8) zerofill", ["9", "10"], ["10", "9"]],
    ["bigint", ["9", "10", "-9223372036854775808"], ["-9223372036854775808", "10", "9"]],
    ["bigint unsigned", ["9", "18446744073709551615"], ["18446744073709551615", "9"]],
  ])("of type %s", async (type, inserted, expected) => {
    const { url } = await customers(type, inserted);
    expect(await idsOf(url)).toEqual(expected);
  });

  test("of type uuid", async ({ skip }) => {
    const { url, query } = await freshDatabase("mysql");
    skip(!(await isMariadb(query)), "only MariaDB has the type uuid");
    const ids = ["b0000000-0000-0000-0000-000000000000", "A0000000-0000-0000-0000-000000000000"];
    await query("CREATE TABLE customers (id uuid)");
    await query("INSERT INTO customers VALUES ($1), ($2)", ids);
    expect(await idsOf(url)).toEqual(ids.map((id) => id.toLowerCase()).reverse());
  });

  test.each([
    ["decimal(9, 2)", "decimal"],
    ["double", "double"],
    ["boolean", "tinyint(1)"],
    ["bit(8)", "bit(8)"],
    ["datetime", "datetime"],
    ["json", "json"],
    ["varbinary(9)", "bytes"],
    ["binary(16)", "bytes"],
    ["blob", "bytes"],
    ["enum('good')", "enum"],
    ["set('good')", "set"],
  ])("of type %s is refused: its text is not one and the same for equal ids", async (type, name) => {
    const { url } = await customers(type, []);
    await expect(idsOf(url)).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: `group.id: column id is of type ${name}`,
      hint: expect.stringContaining("a query can cast"),
    });
  });

  test("may hold what no id can be: it is read all the same, cut to what is enough to refuse it", async () => {
    const long = (end: string) => `${"😀".repeat(MAX_ID_BYTES)}${end}`;
    const { url } = await customers("longtext", [long("b"), "a\0b", "a", "", long("ab"), "a\0"]);
    const cut = expect.stringMatching(/^(😀){512}[ab]$/u);
    expect(await idsOf(url)).toEqual(["", "a", "a\0", "a\0b", cut, cut]);
    expect(await idsOf(url)).toEqual([...(await idsOf(url))].toSorted((a, b) => compareIds(`${a}`, `${b}`)));
  });
});
