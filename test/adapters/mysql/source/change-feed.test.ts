import { expect, test } from "vitest";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { changeReader } from "../../sql/source/source-database.ts";

test("dates that are none don't count", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id varchar(40), changed datetime)");
  await database.query("SET sql_mode = ''");
  await database.query(
    "INSERT INTO customers VALUES ('zero', '0000-00-00 00:00:00'), ('a', '2026-03-01 12:00:00')",
  );
  const reader = await changeReader(database);
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
  const reader = await changeReader(database);
  const [a, b] = await reader.rows(null, 10);
  expect([a?.value, b?.value]).toEqual(["7", "18446744073709551615"]);
  expect(await reader.rows({ value: "7", isIncluded: false }, 10)).toEqual([b]);
  expect(await reader.newest()).toMatchObject({ value: "18446744073709551615" });
});
