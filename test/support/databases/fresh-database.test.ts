import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { type Connections, serverUrl } from "./database-server.ts";
import { freshDatabase, SERVERS, sessionsLeft, withServer } from "./fresh-database.ts";

const kind = inject("databaseKind");

test("a fresh database shares nothing with another one", async () => {
  const one = await freshDatabase();
  const other = await freshDatabase();
  expect(one.kind).toBe(kind);
  await one.query("CREATE TABLE customers (id varchar(9))");
  await other.query("CREATE TABLE customers (id integer)");
  await one.query("INSERT INTO customers VALUES ($1)", ["acme"]);
  expect(await one.query("SELECT * FROM customers")).toEqual([{ id: "acme" }]);
  expect(await other.query("SELECT * FROM customers")).toEqual([]);
});

// Conditions and not skipIf: a skipped test is one that a server is missing for.
if (kind === "postgres") {
  test("the server is a real PostgreSQL whose order of text is not that of bytes", async () => {
    const { query } = await freshDatabase();
    const [row] = await query(
      `SELECT current_setting('server_version_num')::int >= 130000 AS supported,
              'a' < 'B' AS by_default, 'a' < 'B' COLLATE "C" AS by_bytes`,
    );
    expect(row).toEqual({ supported: true, by_default: true, by_bytes: false });
  });

  /** In schemas, on `public`, and what no schema takes with it. */
  const TRACES = [
    "CREATE TABLE customers (id integer); CREATE SCHEMA ops; CREATE TABLE ops.ledger (id integer)",
    "REVOKE ALL ON SCHEMA public FROM public; CREATE EXTENSION citext",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = ''1MB''', current_database()); END $$",
    "DO $$ BEGIN EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM public', current_database()); END $$",
    "CREATE PUBLICATION changes FOR ALL TABLES",
    "BEGIN; CREATE TEMPORARY TABLE customers (id integer); SET work_mem = '2MB'",
  ];
  const CONTENT = `SELECT current_setting('work_mem') AS work_mem,
    (SELECT datacl::text FROM pg_database WHERE datname = current_database()) AS rights,
    (SELECT array_agg((nspname, nspowner::regrole, nspacl)::text ORDER BY nspname) FROM pg_namespace
     WHERE nspname !~ '^pg_') AS schemas,
    (SELECT count(*) FROM pg_class) AS relations, (SELECT count(*) FROM pg_proc) AS functions,
    (SELECT count(*) FROM pg_type) AS types, (SELECT count(*) FROM pg_extension) AS extensions,
    (SELECT count(*) FROM pg_publication) AS publications`;

  test.each(TRACES)("what a test does to its database ends with it: %s", async (statement) => {
    const { query } = await freshDatabase();
    await query(statement);
  });

  test("the databases of the next test are as new ones are", async () => {
    const asNew = `groupsync_new_${randomBytes(6).toString("hex")}`;
    await withServer(kind, (query) => query(`CREATE DATABASE ${asNew}`));
    onTestFinished(async () => {
      await withServer(kind, (query) => query(`DROP DATABASE ${asNew} WITH (FORCE)`));
    });
    const url = new URL(serverUrl(kind));
    url.pathname = `/${asNew}`;
    const connection = SERVERS[kind].connect(url.href);
    onTestFinished(() => connection.end());
    const [expected] = await connection.query(CONTENT);
    for (let count = 0; count < 2 * TRACES.length; count++) {
      const { query } = await freshDatabase();
      expect((await query(CONTENT))[0]).toEqual(expected);
    }
  });
}

if (kind === "mysql") {
  test("text is neither ordered nor compared by bytes, and takes any character", async () => {
    const { query } = await freshDatabase();
    await query("CREATE TABLE customers (id varchar(9))");
    await query("INSERT INTO customers VALUES ($1)", ["a🎈"]);
    const [row] = await query(
      "SELECT id, id = 'A🎈' AS same, id < 'B' AS by_default, BINARY id < 'B' AS by_bytes FROM customers",
    );
    expect(row).toEqual({ id: "a🎈", same: 1, by_default: 1, by_bytes: 0 });
  });
}

describe("a connection left open", () => {
  test("is seen for as long as it is open", async () => {
    const { name, url, query } = await freshDatabase();
    const leak = await openConnection(url);
    const left = await sessionsLeft(kind, name, 0, query);
    await leak.end();
    expect(left).toHaveLength(1);
    expect(left[0]?.client).toMatch(kind === "postgres" ? /^groupsync tests$/ : /^\w+, connection \d+$/);
  });

  test("is forgiven when it closes within the grace", async () => {
    const { name, url, query } = await freshDatabase();
    const late = await openConnection(url);
    const left = sessionsLeft(kind, name, 30_000, query);
    await sleep(300);
    await late.end();
    expect(await left).toEqual([]);
  });
});

async function openConnection(url: string): Promise<Connections> {
  const connection = SERVERS[kind].connect(url);
  await connection.query("SELECT 1");
  return connection;
}
