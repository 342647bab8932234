import { describe, expect, test } from "vitest";
import { quoteTable } from "../../../../src/adapters/postgres/connection/identifiers.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { postgresSource } from "../source/source-database.ts";

describe("names reach PostgreSQL as the config writes them:", () => {
  test.each([
    ["customers", "customers"],
    ["public.customers", "public.customers"],
    ['"My Schema".customers', '"My Schema".customers'],
    ['"My Schema"."Big Customers"', '"My Schema"."Big Customers"'],
    ["Customers", '"Customers"'],
    ['"a.b"."c.d"', '"a.b"."c.d"'],
    ['"say ""hi"""', '"say ""hi"""'],
    ["`My Schema`.`say ``hi```", '"My Schema"."say `hi`"'],
    ["it's", `"it's"`],
    ["naïve–名前", '"naïve–名前"'],
    ["select", '"select"'],
  ])("table %s", async (written, sql) => {
    const { url, query } = await freshDatabase();
    const schema = /^(".*"|\w+)\./.exec(sql)?.[1];
    if (schema && schema !== "public") await query(`CREATE SCHEMA ${schema}`);
    await query(`CREATE TABLE ${sql} (id text)`);
    await query(`INSERT INTO ${sql} VALUES ('a')`);
    expect(await rowsOf(postgresSource(url, { table: written }), ["id"])).toEqual([["a"]]);
  });

  test("columns", async () => {
    const { url, query } = await freshDatabase();
    await query(
      `CREATE TABLE customers ("Id" int, id int, "the ""name""" text, "a b" text, "order" text, "x.y" text)`,
    );
    await query(`INSERT INTO customers VALUES (1, 2, 'n', 'ab', 'o', 'xy')`);
    const columns = ["Id", 'the "name"', "a b", "order", "x.y", "id"];
    const rows = await rowsOf(postgresSource(url, { table: "customers" }), columns);
    expect(rows).toEqual([["1", "n", "ab", "o", "xy", 2]]);
  });

  test.each([
    "",
    "a.b.c",
    "a b",
    '"open',
    "`open",
    '"a"b',
    "a`b",
    "a.",
    ".a",
    '""',
    "nul\0",
    "x".repeat(64),
    "é".repeat(32),
  ])("%j is no table", (written) => {
    expect(() => quoteTable(written)).toThrow(expect.objectContaining({ code: "CONFIG_NAME" }));
  });
});
