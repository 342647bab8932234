import { expect, onTestFinished, test } from "vitest";
import { postgresChangeFeed } from "../../../../src/adapters/postgres/source/change-feed.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { ChangeReader } from "../../../../src/ports/change-feed.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";

async function readerOf({ url }: FreshDatabase): Promise<ChangeReader> {
  const feed = postgresChangeFeed({
    url: new Secret(url),
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

const idsOf = async (reader: ChangeReader): Promise<(string | null)[]> =>
  (await reader.rows(null, 10)).map((row) => row.user_group_id);

test("the ids of transactions can be values", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE TABLE customers (id text, changed xid8 DEFAULT pg_current_xact_id())");
  for (const id of ["a", "b"]) await database.query(`INSERT INTO customers VALUES ('${id}')`);
  const reader = await readerOf(database);
  const [a, b] = await reader.rows(null, 10);
  expect(await reader.newest()).toMatchObject({ value: b?.value, before: b?.value });
  expect(await reader.rows({ value: a?.value ?? "", isIncluded: false }, 10)).toEqual([b]);
});

test("a domain counts as the type below it", async () => {
  const database = await freshDatabase("postgres");
  await database.query("CREATE DOMAIN moment AS timestamptz");
  await database.query("CREATE TABLE customers (id text, changed moment DEFAULT now())");
  await database.query("INSERT INTO customers VALUES ('a')");
  const reader = await readerOf(database);
  expect(reader.type).toBe("timestamptz");
  expect(await idsOf(reader)).toEqual(["a"]);
});

test("a view that writes is refused at each look", async () => {
  const database = await freshDatabase("postgres");
  await database.query(`CREATE TABLE looks (at timestamptz DEFAULT now());
    CREATE FUNCTION note() RETURNS text LANGUAGE sql AS $$ INSERT INTO looks DEFAULT VALUES RETURNING 'a' $$;
    CREATE VIEW customers AS SELECT note() AS id, now() AS changed`);
  const reader = await readerOf(database);
  await expect(reader.rows(null, 10)).rejects.toThrow("read-only transaction");
  expect(await database.query("SELECT * FROM looks")).toEqual([]);
});

test.each([
  ["timestamptz", "infinity", "now()"],
  ["timestamp", "infinity", "now()"],
  ["numeric", "NaN", "1"],
])("a %s that is %s doesn't hide the others", async (type, endless, value) => {
  const database = await freshDatabase("postgres");
  await database.query(`CREATE TABLE customers (id text, changed ${type})`);
  await database.query(`INSERT INTO customers VALUES ('a', ${value}), ('endless', '${endless}')`);
  const reader = await readerOf(database);
  expect(await idsOf(reader)).toEqual(["a"]);
  expect((await reader.newest())?.value).toBe((await reader.rows(null, 10))[0]?.value);
});
