import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { POSTGRES } from "../../../../src/adapters/postgres/source/tenant-source.ts";
import { sqlChangeFeed } from "../../../../src/adapters/sql/source/change-feed.ts";
import { compareIds } from "../../../../src/core/group/tenant.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { readTenants } from "../../../../src/engine/plan/read-tenants.ts";
import { column, someRules } from "../../../builders/rules.ts";
import { collect } from "../../../contracts/collect.ts";
import { lookupsOf } from "../../../contracts/lookups.ts";
import { NEVER, readAll } from "../../../contracts/rows-of.ts";
import { postgresSource } from "../../sql/source/source-database.ts";
import { encodedDatabase } from "../encoded-database.ts";

const COLUMNS = ["id", "name", "tags"];

/** The text in bytes that are not UTF-8, as a database in SQL_ASCII takes any bytes. */
const latin1 = (text: string): string =>
  `convert_from('\\x${Buffer.from(text, "latin1").toString("hex")}', 'SQL_ASCII')`;

/** Rows of which c, d and zoë have such bytes, each in another column. */
async function customers(): Promise<string> {
  const url = await encodedDatabase("SQL_ASCII");
  const client = new pg.Client(url);
  await client.connect();
  await client.query("CREATE TABLE customers (id text PRIMARY KEY, name text, tags text[], version integer)");
  await client.query("CREATE INDEX ON customers (version)");
  await client.query(`INSERT INTO customers VALUES
    ('é', 'Größe', '{ü}', 1), ('😀', 'Smile', '{}', 2), ('\ue000', 'Private', '{}', 3), ('a', 'A', '{a}', 4),
    ('c', ${latin1("Größe")}, '{}', 5), ('d', 'D', ARRAY['d', ${latin1("ü")}], 6), (${latin1("zoë")}, 'Zoe', '{}', 7)`);
  await client.end();
  return url;
}

test("a row with bytes that are not UTF-8 is rejected by itself, with its id or with what can be read of it", async () => {
  const { rows, buckets } = await readAll(postgresSource(await customers(), { table: "customers" }), COLUMNS);
  const properties = { kind: "keys", keys: { tags: column("tags") } } as const;
  const rules = someRules({ name: column("name"), properties });
  const tenants = (await collect(readTenants(collectedIn(rows), rules))).flat();
  const [desired, rejected] = [
    tenants.flatMap((tenant) => (tenant.kind === "desired" ? [tenant.group] : [])),
    tenants.flatMap((tenant) => (tenant.kind === "rejected" ? [tenant] : [])),
  ];
  expect(desired.map(({ user_group_id, name }) => [user_group_id, name])).toEqual([
    ["a", "A"],
    ["é", "Größe"],
    ["\ue000", "Private"],
    ["😀", "Smile"],
  ]);
  const notUtf8 = (where: string) => expect.stringContaining(`${where} holds bytes that are not UTF-8`);
  expect(rejected.map(({ user_group_id, code, message }) => [user_group_id, code, message]).sort()).toEqual(
    [
      ["c", "VALUE_UNUSABLE", notUtf8("name (column name)")],
      ["d", "VALUE_UNUSABLE", notUtf8("properties.tags (column tags)")],
      [null, "ID_UNUSABLE", expect.stringMatching(/^column id holds bytes that are not UTF-8.*"zo\ufffd"/)],
    ].sort(),
  );
  expect(buckets.reduce((sum, { rows: count }) => sum + count, 0)).toBe(rows.length);
});

async function* collectedIn<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield items;
}

test("single tenants are found beside such rows", async () => {
  const source = postgresSource(await customers(), { table: "customers" });
  const lookups = await lookupsOf(source, COLUMNS);
  const ids = ["é", "zo\ufffd", "c", "日", "😀"];
  const { rows } = await readAll(source, COLUMNS);
  const wanted = rows.filter(({ cells: [id] }) => typeof id === "string" && ids.includes(id));
  expect(await lookups.rowsOf(ids)).toEqual(wanted);
  expect(wanted.map(({ cells: [id] }) => id)).toEqual(["c", "é", "😀"].sort(compareIds));
});

test("changes are noticed beside such rows", async () => {
  const timeouts = { lockMs: 30_000, silenceMs: 600_000 };
  const feed = sqlChangeFeed(POSTGRES, {
    url: new Secret(await customers()),
    applicationName: "groupsync:feed-under-test",
    timeouts,
    table: "customers",
    changeColumn: "version",
    columns: COLUMNS,
  });
  const reader = await feed.open(NEVER);
  onTestFinished(() => reader.close());
  const changed = await reader.rows(null, 10);
  expect(changed.map(({ user_group_id }) => user_group_id)).toEqual([
    "é",
    "😀",
    "\ue000",
    "a",
    "c",
    "d",
    null,
  ]);
});
