import { describe, expect, inject, test } from "vitest";
import { identifiers as mysql } from "../../../../src/adapters/mysql/connection/identifiers.ts";
import * as postgres from "../../../../src/adapters/postgres/connection/identifiers.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { SOURCES } from "../source/source-database.ts";

const kind = inject("databaseKind");
const { quoteName, quoteTable } = { postgres, mysql }[kind];

test.each<[written: string, parts: readonly string[]]>([
  ["customers", ["customers"]],
  ["public.customers", ["public", "customers"]],
  ['"My Schema"."Big Customers"', ["My Schema", "Big Customers"]],
  ["`My Schema` . `say ``hi```", ["My Schema", "say `hi`"]],
  ['"a.b"."c.d"', ["a.b", "c.d"]],
  ['"say ""hi"""', ['say "hi"']],
  ["it's", ["it's"]],
  ["naïve–名前", ["naïve–名前"]],
])("the table %s of a config is quoted, in its case", (written, parts) => {
  expect(quoteTable(written)).toBe(parts.map(quoteName).join("."));
});

test.each([
  ...["", "a.b.c", "a b", '"open', "`open", '"a"b', "a`b", "a.", ".a", '""', "``", "nul\0"],
  ...[kind === "postgres" ? "é".repeat(32) : "x".repeat(65)],
])("%j is no table", (written) => {
  expect(() => quoteTable(written)).toThrow(expect.objectContaining({ code: "CONFIG_NAME" }));
});

describe("names reach the database as the config writes them:", () => {
  const ODD = `Say "hi", \`it's\` naïve 名前.x`;
  const inSql = (name: string): string => `"${name.replaceAll('"', '""')}"`;

  test("a table, with its schema or without", async () => {
    const { name, url, query } = await freshDatabase();
    await query(`CREATE TABLE ${inSql(ODD)} (id varchar(9))`);
    await query(`INSERT INTO ${inSql(ODD)} VALUES ('a')`);
    const schema = kind === "postgres" ? "public" : name;
    for (const table of [inSql(ODD), `${schema}.${inSql(ODD)}`]) {
      expect(await rowsOf(SOURCES[kind](url, { table }), ["id"])).toEqual([["a"]]);
    }
  });

  test("columns, also such as could be taken for our own", async () => {
    const { url, query } = await freshDatabase();
    const columns = ["Id", ODD, "order", "bucket", "rows", "sum"];
    await query(`CREATE TABLE customers (${columns.map((column) => `${inSql(column)} int`).join(", ")})`);
    await query("INSERT INTO customers VALUES (1, 2, 3, 4, 5, 6), (2, 2, 3, 4, 5, 6)");
    const source = SOURCES[kind](url, { table: "customers" });
    expect((await rowsOf(source, columns))[0]).toEqual(["1", 2, 3, 4, 5, 6]);
    const snapshot = await source.open(columns, "seed", NEVER);
    expect(await snapshot.buckets()).toHaveLength(2);
    await snapshot.close();
  });
});
