import { describe, expect, test } from "vitest";
import { identifiers } from "../../../../src/adapters/mysql/connection/identifiers.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { mysqlSource } from "../source/source-database.ts";

describe("names reach MySQL as the config writes them:", () => {
  test.each([
    ["customers", "customers"],
    ['"Big Customers"', '"Big Customers"'],
    ["`Big Customers`", '"Big Customers"'],
    ['"a.b"', '"a.b"'],
    ['"say ""hi"""', '"say ""hi"""'],
    ["`say ``hi```", '"say `hi`"'],
    ["it's", `"it's"`],
    ["naïve–名前", '"naïve–名前"'],
    ["select", '"select"'],
    ["x".repeat(64), "x".repeat(64)],
  ])("table %s", async (written, sql) => {
    const { url, name, query } = await freshDatabase("mysql");
    await query(`CREATE TABLE ${sql} (id varchar(9))`);
    await query(`INSERT INTO ${sql} VALUES ('a')`);
    for (const table of [written, `${name}.${written}`, `\`${name}\` . ${written}`]) {
      expect(await rowsOf(mysqlSource(url, { table }), ["id"])).toEqual([["a"]]);
    }
  });

  test("a table in another database than the url's, and a url without one", async () => {
    const { name, query } = await freshDatabase("mysql");
    const { url } = await freshDatabase("mysql");
    await query("CREATE TABLE customers (id varchar(9))");
    await query("INSERT INTO customers VALUES ('a')");
    const where = "customers.id = 'a'";
    for (const one of [url, Object.assign(new URL(url), { pathname: "/" }).href]) {
      expect(await rowsOf(mysqlSource(one, { table: `${name}.customers`, where }), ["id"])).toEqual([["a"]]);
    }
  });

  test("columns, also such as could be taken for our own", async () => {
    const { url, query } = await freshDatabase("mysql");
    await query(
      `CREATE TABLE customers ("Id" int, "the ""name""" text, "a b" text, "order" text, "x.y" text, "\`" text,
         bucket int, "rows" int, sum int)`,
    );
    await query(
      `INSERT INTO customers VALUES (1, 'n', 'ab', 'o', 'xy', 'tick', 3, 4, 5), (2, '', '', '', '', '', 3, 4, 5)`,
    );
    const columns = ["Id", 'the "name"', "a b", "order", "x.y", "`", "bucket", "rows", "sum"];
    const source = mysqlSource(url, { table: "customers" });
    expect((await rowsOf(source, columns))[0]).toEqual(["1", "n", "ab", "o", "xy", "tick", 3, 4, 5]);
    const snapshot = await source.open(columns, "seed", NEVER);
    expect(await snapshot.buckets()).toHaveLength(2);
    await snapshot.close();
  });

  test.each(["", "a.b.c", "a b", "`open", "``", "nul\0", "x".repeat(65)])("%j is no table", (written) => {
    expect(() => identifiers.quoteTable(written)).toThrow(expect.objectContaining({ code: "CONFIG_NAME" }));
  });
});
