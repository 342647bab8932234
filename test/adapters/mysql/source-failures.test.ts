import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import type { SyncError } from "../../../src/core/errors.ts";
import { collect, rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { batchesOf, NEVER, rowsOf } from "../../contracts/rows-of.ts";
import type { SourceDatabase, SourceOptions } from "../../contracts/tenant-source.ts";
import type { FreshDatabase } from "../../support/fresh-database.ts";
import { PROCESS_LIST } from "../../support/mysql-server.ts";
import { aRole } from "../../support/role.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { listening } from "../listening.ts";
import { mysqlSource, mysqlSourceDatabase } from "./source-database.ts";

const read = (url: string, options: SourceOptions = { table: "customers" }) =>
  rowsOf(mysqlSource(url, options), ["id"]);

type UrlPart = "username" | "password" | "hostname" | "pathname" | "search";
const withUrl = (url: string, parts: Partial<Record<UrlPart, string>>): string =>
  Object.assign(new URL(url), parts).href;

/** So many that they don't fit into what sockets and streams take at once. */
async function manyCustomers(): Promise<SourceDatabase & FreshDatabase> {
  const database = await mysqlSourceDatabase();
  await database.create("customers", { id: "text", name: "text" });
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ id: `t-${index}`, name: "x".repeat(500) }));
  for (let start = 0; start < rows.length; start += 4_000) {
    await database.insert("customers", rows.slice(start, start + 4_000));
  }
  return database;
}

async function killReader(query: FreshDatabase["query"]): Promise<void> {
  const [reader] = await query<{ id: string }>(
    `SELECT id FROM ${PROCESS_LIST} WHERE db = database() AND id <> connection_id()`,
  );
  await query(`KILL ${reader?.id}`);
}

describe("a source that can't be read says why, and what to do:", () => {
  test.each([
    ["a wrong password", { password: "hunter2" }, /Access denied/, /user and password/],
    ["an unknown user", { username: "nobody" }, /'nobody'/, /user and password/],
    ["an unknown database", { pathname: "/nowhere" }, /'nowhere'/, /database's name/],
    ["an unknown host", { hostname: "db.invalid", search: "ssl-mode=DISABLED" }, /db\.invalid/, /host/],
  ])("%s", async (_, change, message, hint) => {
    const { url } = await mysqlSourceDatabase();
    await expect(read(withUrl(url, change))).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  test("a port where nobody listens", async () => {
    const server = createServer();
    const { port, close } = await listening(server);
    await close();
    await expect(read(`mysql://user:hunter2@127.0.0.1:${port}/db`)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringContaining("ECONNREFUSED"),
      hint: expect.stringContaining("is the database running"),
    });
  });

  test.each([
    ["that is none", "HTTP/1.1 400 Bad Request\r\n\r\n"],
    ["that hangs up", ""],
  ])("a server %s", async (_, greeting) => {
    const server = createServer((socket) => socket.end(greeting));
    const { port } = await listening(server);
    await expect(read(`mysql://user:hunter2@127.0.0.1:${port}/db`)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
    });
  });

  test("a database that isn't there", async () => {
    const { url } = await mysqlSourceDatabase();
    await expect(read(url, { table: "groupsync_nowhere.customers" })).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringContaining("groupsync_nowhere"),
      hint: expect.stringContaining("database"),
    });
  });

  test("a table that the account may not read", async () => {
    const database = await mysqlSourceDatabase();
    await database.create("customers", { id: "text" });
    const { name, url } = await aRole(database);
    const grant = /^(GRANT SELECT ON .*`customers` TO `(\w+)`@`%`), or whichever host/;
    const error: SyncError = await read(url).catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringMatching(/^cannot read customers: SELECT command denied/),
      hint: expect.stringMatching(grant),
    });
    const [, statement = "", user] = grant.exec(error.hint ?? "") ?? [];
    expect(user).toBe(name);
    await database.query(statement);
    await read(url);
  });

  test("a database that the account may not use", async () => {
    const { url } = await aRole(await mysqlSourceDatabase());
    const { name } = await mysqlSourceDatabase();
    await expect(read(withUrl(url, { pathname: `/${name}` }))).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      hint: expect.stringContaining("grant"),
    });
  });

  test("a wrong url's password is never among the words", async () => {
    const { url } = await mysqlSourceDatabase();
    const error = await rejection(read(withUrl(url, { password: "hunter2" })));
    expect(everythingIn(error)).not.toContain("hunter2");
  });
});

describe("a mistake in the config's SQL is one:", () => {
  test.each<[string, SourceOptions]>([
    ["two statements", { query: "SELECT * FROM customers; DROP TABLE customers" }],
    ["an ambiguous name", { query: "SELECT id FROM customers AS a JOIN customers AS b" }],
    ["a function that isn't there", { table: "customers", where: "nothing(id)" }],
    ["a file to write", { query: "SELECT * FROM customers INTO OUTFILE '/tmp/groupsync'" }],
    ["a lock to take", { query: "SELECT * FROM customers FOR UPDATE" }],
    ["more than one column to compare", { table: "customers", where: "id = (SELECT 1, 2)" }],
  ])("%s", async (_, options) => {
    const { create, url, query } = await mysqlSourceDatabase();
    await create("customers", { id: "text" });
    await expect(read(url, options)).rejects.toMatchObject({
      code: "CONFIG_SOURCE",
      hint: expect.stringContaining("source.query"),
    });
    expect(await query("SELECT * FROM customers")).toEqual([]);
  });
});

describe("the customer's SQL means what it means to them:", () => {
  test.each<[string, SourceOptions]>([
    ["text in double quotes", { table: "customers", where: 'id = "a"' }],
    ["a name in backticks", { table: "customers", where: "`id` = 'a'" }],
    ["a comment to the end", { table: "customers", where: "id = 'a' # that one" }],
    ["another one", { query: "SELECT * FROM customers WHERE id = 'a' # that one" }],
    [
      "a column that is called like a function",
      { query: "SELECT id, 1 AS count FROM customers HAVING count" },
    ],
    ["a number for a condition", { table: "customers", where: "1", removedWhen: "deleted_at" }],
  ])("%s", async (_, options) => {
    const { create, insert, source } = await mysqlSourceDatabase();
    await create("customers", { id: "text", deleted_at: "timestamp" });
    await insert("customers", [{ id: "a", deleted_at: "2026-01-01 00:00:00" }]);
    expect(await rowsOf(source(options), ["id"])).toEqual([["a"]]);
  });
});

describe("the customer's database is a guest house:", () => {
  test("a query can't change anything", async () => {
    const database = await mysqlSourceDatabase();
    await database.create("customers", { id: "text" });
    await database.insert("customers", [{ id: "a" }]);
    await database.execute(
      `CREATE FUNCTION greedy() RETURNS int DETERMINISTIC MODIFIES SQL DATA
       BEGIN INSERT INTO customers VALUES ('new'); RETURN 1; END`,
    );
    const query = "SELECT id, greedy() AS n FROM customers";
    await expect(rowsOf(mysqlSource(database.url, { query }), ["id", "n"])).rejects.toMatchObject({
      code: "CONFIG_SOURCE",
    });
    expect(await database.query("SELECT * FROM customers")).toEqual([{ id: "a" }]);
  });

  test("a connection that it ends in the middle ends the read", async () => {
    const { query, source, sessions } = await manyCustomers();
    const reading = async () => {
      let isFirst = true;
      for await (const _ of batchesOf(source({ table: "customers" }), ["id", "name"])) {
        if (!isFirst) continue;
        isFirst = false;
        await killReader(query);
      }
    };
    await expect(reading()).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE" });
    await expect.poll(sessions).toBe(0);
  });

  test("one that is ended between two questions says so too", async () => {
    const { create, query, source, sessions } = await mysqlSourceDatabase();
    await create("customers", { id: "text" });
    const snapshot = await source({ table: "customers" }).open(["id"], "seed", NEVER);
    await killReader(query);
    await expect.poll(sessions).toBe(0);
    const lost = { code: "SOURCE_UNAVAILABLE", message: expect.stringMatching(/lost|killed/i) };
    await expect(snapshot.buckets()).rejects.toMatchObject(lost);
    await expect(collect(snapshot.rows())).rejects.toMatchObject(lost);
    await snapshot.close();
    await snapshot.close();
  });

  test("a line that breaks at any point never passes for the end of the rows", async () => {
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

  test("a reader that stops early does not take the rest", async () => {
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

  test("a snapshot can be closed while somebody reads from it", async () => {
    const { source, sessions } = await manyCustomers();
    const snapshot = await source({ table: "customers" }).open(["id", "name"], "seed", NEVER);
    const rows = snapshot.rows()[Symbol.asyncIterator]();
    await rows.next();
    await snapshot.close();
    await expect.poll(sessions).toBe(0);
  });
});
