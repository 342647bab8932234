import { expect, test } from "vitest";
import type { ChangeReader } from "../../../../src/ports/change-feed.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { changeReader } from "../../sql/source/source-database.ts";

const idsOf = async (reader: ChangeReader): Promise<(string | null)[]> =>
  (await reader.rows(null, 10)).map((row) => row.user_group_id);

test("the ids of transactions can be values", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE TABLE customers (id text, changed xid8 DEFAULT pg_current_xact_id())");
  for (const id of ["a", "b"]) await database.query(`INSERT INTO customers VALUES ('${id}')`);
  const reader = await changeReader(database);
  const [a, b] = await reader.rows(null, 10);
  expect(await reader.newest()).toMatchObject({ value: b?.value, before: b?.value });
  expect(await reader.rows({ value: a?.value ?? "", isIncluded: false }, 10)).toEqual([b]);
});

test("a domain counts as the type below it", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE DOMAIN moment AS timestamptz");
  await database.query("CREATE TABLE customers (id text, changed moment DEFAULT now())");
  await database.query("INSERT INTO customers VALUES ('a')");
  const reader = await changeReader(database);
  expect(reader.type).toBe("timestamptz");
  expect(await idsOf(reader)).toEqual(["a"]);
});

test.each([
  ["timestamptz", "infinity", "now()"],
  ["timestamp", "infinity", "now()"],
  ["numeric", "NaN", "1"],
])("a %s that is %s doesn't hide the others", async (type, endless, value) => {
  const database = await freshDatabase("postgres");
  await database.query(`CREATE TABLE customers (id text, changed ${type})`);
  await database.query(`INSERT INTO customers VALUES ('a', ${value}), ('endless', '${endless}')`);
  const reader = await changeReader(database);
  expect(await idsOf(reader)).toEqual(["a"]);
  expect((await reader.newest())?.value).toBe((await reader.rows(null, 10))[0]?.value);
});
