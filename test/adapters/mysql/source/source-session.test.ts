import { describe, expect, onTestFinished, test } from "vitest";
import { collect } from "../../../contracts/collect.ts";
import { batchesOf, NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import type { SourceDatabase } from "../../../contracts/tenant-source.ts";
import type { FreshDatabase } from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { APPLICATION, changeReader, mysqlSource, sourceDatabase } from "../../sql/source/source-database.ts";
import { isThere, ownMariadb } from "../own-mariadb.ts";

/** More rows than the buffers of sockets and streams can hold. */
async function manyCustomers(): Promise<SourceDatabase & FreshDatabase> {
  const database = await sourceDatabase("mysql");
  await database.create("customers", { id: "text", name: "text" });
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ id: `t-${index}`, name: "x".repeat(500) }));
  for (let start = 0; start < rows.length; start += 4_000) {
    await database.insert("customers", rows.slice(start, start + 4_000));
  }
  return database;
}

describe("a read of the source", () => {
  test("never takes a broken connection for the end of the rows", async () => {
    const database = await manyCustomers();
    const proxy = await tcpProxy(database.url);
    const source = mysqlSource(proxy.url, { table: "customers" });
    proxy.limit(Number.POSITIVE_INFINITY);
    expect(await rowsOf(source, ["id", "name"])).toHaveLength(20_000);
    const all = proxy.passed();
    for (const share of [0.0001, 0.1, 0.5, 0.9, 0.999999]) {
      proxy.limit(Math.floor(all * share));
      await expect(rowsOf(source, ["id", "name"])).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE" });
    }
    await expect.poll(database.sessions).toBe(0);
  });

  test("does not receive the rest if the reader stops early", async () => {
    const database = await manyCustomers();
    const proxy = await tcpProxy(database.url);
    const source = mysqlSource(proxy.url, { table: "customers" });
    proxy.limit(Number.POSITIVE_INFINITY);
    await rowsOf(source, ["id", "name"]);
    const all = proxy.passed();
    proxy.limit(Number.POSITIVE_INFINITY);
    for await (const _ of batchesOf(source, ["id", "name"])) break;
    await expect.poll(database.sessions).toBe(0);
    expect(proxy.passed()).toBeLessThan(all * 0.9);
  });

  test("can be closed while somebody reads from its snapshot", async () => {
    const { source, sessions } = await manyCustomers();
    const snapshot = await source({ table: "customers" }).open(["id", "name"], "seed", NEVER);
    const rows = snapshot.rows()[Symbol.asyncIterator]();
    await rows.next();
    await snapshot.close();
    await expect.poll(sessions).toBe(0);
  });
});

/** Each of them would change what comes, or how much of it. */
const ODD_SETTINGS = [
  "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,ANSI'",
  "time_zone = '+05:45'",
  "sql_select_limit = 2",
  "max_join_size = 1",
  "max_sort_length = 64",
  "net_write_timeout = 1",
  "wait_timeout = 1",
  "idle_transaction_timeout = 1",
  "idle_readonly_transaction_timeout = 1",
  "TRANSACTION ISOLATION LEVEL READ COMMITTED",
  "autocommit = 0",
];

test.skipIf(!isThere)("the server's own settings change nothing", async () => {
  const server = await ownMariadb({
    character_set_server: "latin1",
    skip_character_set_client_handshake: "1",
    performance_schema: "1",
  });
  const { query } = server;
  for (const setting of ODD_SETTINGS) await query(`SET GLOBAL ${setting}`);
  await query("SET NAMES utf8mb4");
  await query("CREATE DATABASE odd CHARACTER SET utf8mb4");
  await query(
    `CREATE TABLE odd.customers (id varchar(40), c char(9), t timestamp NULL, name text) ENGINE = InnoDB`,
  );
  await query(`INSERT INTO odd.customers VALUES
    ('tenant-b', 'it''s \\\\', '2026-03-01 09:30:00', NULL), ('tenant-c', NULL, NULL, 'Größe 😀'),
    ('tenant-a', '', NULL, ''), ('Tenant-a', 'c', NULL, 'NULL')`);

  const url = `${server.url}odd`;
  const rows = await rowsOf(mysqlSource(url, { table: "customers" }), ["id", "c", "t", "name"]);
  expect(rows).toEqual([
    ["Tenant-a", "c", null, "NULL"],
    ["tenant-a", "", null, ""],
    ["tenant-b", "it's \\", "2026-03-01T09:30:00.000Z", null],
    ["tenant-c", null, null, "Größe 😀"],
  ]);

  const long = "x".repeat(500);
  await query("CREATE TABLE odd.long_ids (id varchar(512))");
  await query("INSERT INTO odd.long_ids VALUES ($1), ($2), ($3)", [`${long}c`, `${long}a`, `${long}b`]);
  const ids = (await rowsOf(mysqlSource(url, { table: "long_ids" }), ["id"])).map(([id]) =>
    String(id).at(-1),
  );
  expect(ids).toEqual(["a", "b", "c"]);

  const snapshot = await mysqlSource(url, { table: "long_ids" }).open(["id"], "seed", NEVER);
  onTestFinished(() => snapshot.close());
  await snapshot.buckets();
  await query("DELETE FROM odd.long_ids");
  const rested = `SELECT 1 FROM ${PROCESS_LIST} WHERE db = 'odd' AND time < 3`;
  await expect.poll(() => query(rested), { timeout: 20_000 }).toEqual([]);
  expect((await collect(snapshot.rows())).flat()).toHaveLength(3);

  await query("CREATE TABLE odd.numbered (id int)");
  const numbered = { table: "numbered", changeColumn: "id", columns: ["id"] };
  const reader = await changeReader({ kind: "mysql", url }, numbered);
  expect(await reader.newest()).toBeNull();
  await query("INSERT INTO odd.numbered VALUES (1)");
  expect(await reader.newest()).toMatchObject({ value: "1" });

  // The customer's own SQL is written for such a server.
  const options = { table: "customers", where: `"id" = 'tenant' || '-b'`, removedWhen: "NOT c IS NULL" };
  expect(await rowsOf(mysqlSource(url, options), ["id"])).toEqual([["tenant-b"]]);

  const session = `SELECT attr_value AS id, @@net_write_timeout AS patience
    FROM performance_schema.session_connect_attrs
    WHERE attr_name = 'program_name' AND processlist_id = connection_id()`;
  expect(await rowsOf(mysqlSource(url, { query: session }), ["id", "patience"])).toEqual([
    [APPLICATION, 3600],
  ]);
});
