import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { type SourceOptions, tenantSourceContract } from "../../../contracts/tenant-source.ts";
import { aRole } from "../../../support/databases/role.ts";
import { listening } from "../../../support/servers/listening.ts";
import { postgresSource, postgresSourceDatabase } from "./source-database.ts";

tenantSourceContract("PostgreSQL", postgresSourceDatabase);

const read = (url: string, options: SourceOptions = { table: "customers" }) =>
  rowsOf(postgresSource(url, options), ["id"]);

type UrlPart = "username" | "password" | "hostname" | "pathname" | "search";
const withUrl = (url: string, parts: Partial<Record<UrlPart, string>>): string =>
  Object.assign(new URL(url), parts).href;

describe("the error of a failed read says why, and what to do:", () => {
  test.each([
    ["a wrong password", { password: "hunter2" }, /password authentication failed/, /user and password/],
    ["an unknown user", { username: "nobody" }, /"nobody"/, /user and password/],
    ["an unknown database", { pathname: "/nowhere" }, /"nowhere" does not exist/, /database's name/],
    ["an unknown host", { hostname: "db.invalid", search: "sslmode=disable" }, /db\.invalid/, /host/],
  ])("%s", async (_, change, message, hint) => {
    const { url } = await postgresSourceDatabase();
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
    await expect(read(`postgres://user:hunter2@127.0.0.1:${port}/db`)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringContaining("ECONNREFUSED"),
      hint: expect.stringContaining("is the database running"),
    });
  });

  test("a server that is none", async () => {
    const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const { port } = await listening(server);
    await expect(read(`postgres://user:hunter2@127.0.0.1:${port}/db`)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
    });
  });

  test("a schema that isn't there", async () => {
    const { url } = await postgresSourceDatabase();
    await expect(read(url, { table: "sales.customers" })).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringContaining('relation "sales.customers" does not exist'),
      hint: expect.stringContaining("schema"),
    });
  });

  test("a table that the role may not read", async () => {
    const database = await postgresSourceDatabase();
    await database.create("customers", { id: "text" });
    const { name, url } = await aRole(database);
    await expect(read(url)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: "cannot read customers: permission denied for table customers",
      hint: `GRANT SELECT ON "public"."customers" TO "${name}"`,
    });
    await database.query(`GRANT SELECT ON "customers" TO "${name}"`);
    await read(url);
  });

  test("a schema that the role may not use, and a table in it", async () => {
    const database = await postgresSourceDatabase();
    await database.query('CREATE SCHEMA "My Sales"');
    await database.query('CREATE TABLE "My Sales".customers (id text)');
    const { name, url } = await aRole(database);
    const table = '"My Sales".customers';
    const hints = [
      `GRANT USAGE ON SCHEMA "My Sales" TO "${name}"`,
      `GRANT SELECT ON "My Sales"."customers" TO "${name}"`,
    ];
    for (const hint of hints) {
      await expect(read(url, { table })).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE", hint });
      await database.query(hint);
    }
    await read(url, { table });
  });

  test("a view whose owner may not read its table", async () => {
    const database = await postgresSourceDatabase();
    await database.create("accounts", { id: "text" });
    await database.query("CREATE VIEW customers AS SELECT * FROM accounts");
    const { name, url } = await aRole(database);
    const owner = await aRole(database);
    await database.query(`GRANT SELECT ON customers TO ${name}`);
    await database.query(`GRANT CREATE ON SCHEMA public TO ${owner.name}`);
    await database.query(`ALTER VIEW customers OWNER TO ${owner.name}`);
    await expect(read(url)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      hint: expect.stringMatching(
        new RegExp(
          `^find out why customers needs that.*grant the right to ${name}, or to the owner of customers`,
        ),
      ),
    });
  });

  test.each([
    ["table groupsync_tokens"],
    ["view customers_of_groupsync"],
    ["function f"],
    ["function f() TO PUBLIC; --"],
    [`function ${"f".repeat(64)}`],
    ["schema groupsync_tokens"],
  ])("somebody else's code that says that it lacks a right gets none: %s", async (object) => {
    const database = await postgresSourceDatabase();
    await database.query(`CREATE FUNCTION refuse() RETURNS text LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'permission denied for ${object}' USING ERRCODE = '42501'; END $$`);
    await database.query("CREATE VIEW customers AS SELECT refuse() AS id");
    for (const options of [{ table: "customers" }, { query: "SELECT id FROM customers" }]) {
      const error = await rejection(read(database.url, options));
      expect(error).toMatchObject({
        code: "SOURCE_UNAVAILABLE",
        hint: expect.stringMatching(
          /^find out why \S+ needs that, for whoever owns a view or a function in it/,
        ),
      });
    }
  });

  test("data that the query stumbles over", async () => {
    const database = await postgresSourceDatabase();
    await database.create("customers", { id: "text" });
    await database.insert("customers", [{ id: "a" }]);
    await expect(read(database.url, { table: "customers", where: "id::int > 0" })).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: 'cannot read customers: invalid input syntax for type integer: "a"',
    });
  });

  test("a flag that is no condition", async () => {
    const database = await postgresSourceDatabase();
    await database.create("customers", { id: "text", deleted_at: "timestamp" });
    await expect(read(database.url, { table: "customers", removedWhen: "deleted_at" })).rejects.toMatchObject(
      {
        code: "CONFIG_SOURCE",
        message: expect.stringContaining("must be type boolean, not type timestamp"),
        hint: expect.stringContaining("source.removed_when"),
      },
    );
  });

  test("its own password is never among the words", async () => {
    const { url } = await postgresSourceDatabase();
    const error = await rejection(read(withUrl(url, { password: "hunter2" })));
    expect(everythingIn(error)).not.toContain("hunter2");
  });
});
