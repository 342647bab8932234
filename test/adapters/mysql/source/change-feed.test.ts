import { expect, onTestFinished, test } from "vitest";
import { mysqlChangeFeed } from "../../../../src/adapters/mysql/source/change-feed.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { ChangeReader } from "../../../../src/ports/change-feed.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";

async function readerOf(database: FreshDatabase): Promise<ChangeReader> {
  const feed = mysqlChangeFeed({
    url: new Secret(database.url),
    applicationName: "groupsync:feed-under-test",
    timeouts: { lockMs: 30_000, silenceMs: 600_000 },
    table: "customers",
    changeColumn: "changed",
    columns: ["id"],
  });
  const reader = await feed.open(NEVER);
  onTestFinished(() => reader.close());
  return reader;
}

test("a view that writes is refused at each look", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE looks (id varchar(40), changed int)");
  await database.query("CREATE VIEW customers AS SELECT id, changed FROM looks");
  const reader = await readerOf(database);
  expect(await reader.rows(null, 10)).toEqual([]);
  await database.query(`CREATE FUNCTION note() RETURNS int DETERMINISTIC MODIFIES SQL DATA
    BEGIN INSERT INTO looks VALUES ('a', 1); RETURN 1; END`);
  await database.query("CREATE OR REPLACE VIEW customers AS SELECT 'a' AS id, note() AS changed");
  await expect(reader.rows(null, 10)).rejects.toThrow(/read.only transaction/i);
  expect(await database.query("SELECT * FROM looks")).toEqual([]);
});

test("dates that are none don't count", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id varchar(40), changed datetime)");
  await database.query("SET sql_mode = ''");
  await database.query(
    "INSERT INTO customers VALUES ('zero', '0000-00-00 00:00:00'), ('a', '2026-03-01 12:00:00')",
  );
  const reader = await readerOf(database);
  expect((await reader.rows(null, 10)).map((row) => row.user_group_id)).toEqual(["a"]);
  expect(await reader.newest()).toMatchObject({
    value: "2026-03-01 12:00:00",
    before: "2026-03-01 11:58:50",
  });
});

test("a number may be unsigned, and padded with zeros", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id varchar(40), changed bigint(20) unsigned zerofill)");
  await database.query("INSERT INTO customers VALUES ('a', 7), ('b', 18446744073709551615)");
  const reader = await readerOf(database);
  const [a, b] = await reader.rows(null, 10);
  expect([a?.value, b?.value]).toEqual(["7", "18446744073709551615"]);
  expect(await reader.rows({ value: "7", isIncluded: false }, 10)).toEqual([b]);
  expect(await reader.newest()).toMatchObject({ value: "18446744073709551615" });
});
