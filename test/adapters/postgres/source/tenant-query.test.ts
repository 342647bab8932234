import pg from "pg";
import { describe, expect, test } from "vitest";
import { compareIds } from "../../../../src/core/group/tenant.ts";
import { lookupsOf } from "../../../contracts/lookups.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { postgresSource } from "../../sql/source/source-database.ts";
import { encodedDatabase } from "../encoded-database.ts";

const idsOf = async (url: string): Promise<unknown[]> =>
  (await rowsOf(postgresSource(url, { table: "customers" }), ["id"])).map(([id]) => id);

describe("an id column", () => {
  test.each([
    "numeric",
    "double precision",
    "boolean",
    "timestamptz",
    "jsonb",
    "bytea",
    "text[]",
    "inet",
    "mood",
  ])("of type %s is refused: its text is not one and the same for equal ids", async (type) => {
    const { url, query } = await freshDatabase();
    await query("CREATE TYPE mood AS ENUM ('good')");
    await query(`CREATE TABLE customers (id ${type})`);
    await expect(idsOf(url)).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: expect.stringContaining("group.id: column id is of type"),
      hint: expect.stringContaining("a query can cast"),
    });
  });
});

test("a type that somebody has named like one of PostgreSQL's is read without its cast", async () => {
  const { url, query } = await freshDatabase();
  await query("CREATE SCHEMA theirs");
  for (const name of ["uuid", "text"]) {
    await query(`CREATE TYPE theirs.${name} AS (x int)`);
    await query(
      `CREATE FUNCTION theirs.cast_to_text(theirs.${name}) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END'`,
    );
    await query(`CREATE CAST (theirs.${name} AS text) WITH FUNCTION theirs.cast_to_text(theirs.${name})`);
  }
  await query("CREATE TABLE customers (id theirs.uuid, key text, plan theirs.text)");
  await query("INSERT INTO customers VALUES (ROW(1), 'a', ROW(2))");
  await expect(idsOf(url)).rejects.toMatchObject({
    code: "CONFIG_COLUMNS",
    message: expect.stringContaining("is of type theirs.uuid"),
  });
  expect(await rowsOf(postgresSource(url, { table: "customers" }), ["key", "plan"])).toEqual([["a", "(2)"]]);
});

test("a database in LATIN1 is ordered by the bytes of UTF-8 all the same", async () => {
  const url = await encodedDatabase("LATIN1");
  const client = new pg.Client(url);
  await client.connect();
  const ids = ["ÿ", "é", "z", "Ä", "a", "÷", "ab"];
  await client.query("CREATE TABLE customers (id text, name text)");
  await client.query("INSERT INTO customers SELECT id, 'Größe' FROM unnest($1::text[]) AS t (id)", [ids]);
  await client.end();

  const rows = await rowsOf(postgresSource(url, { table: "customers" }), ["id", "name"]);
  expect(rows).toEqual(ids.toSorted(compareIds).map((id) => [id, "Größe"]));

  const lookups = await lookupsOf(postgresSource(url, { table: "customers" }));
  const found = await lookups.rowsOf(["日", "Ä", "€", "a"]);
  expect(found.map(({ cells }) => cells)).toEqual([
    ["a", "Größe"],
    ["Ä", "Größe"],
  ]);
});

test("a byte that stands for no character in its encoding ends the read, and the error says how to go on", async () => {
  const url = await encodedDatabase("WIN1252");
  const client = new pg.Client(url);
  await client.connect();
  await client.query("CREATE TABLE customers AS SELECT 'a' AS id, 'Company ' || chr(129) AS name");
  await client.end();
  await expect(rowsOf(postgresSource(url, { table: "customers" }), ["id", "name"])).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringContaining("0x81"),
    hint: expect.stringContaining("source.where"),
  });
});
