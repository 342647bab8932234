import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { freshDatabase, leakMessage, sessionsLeft } from "./fresh-database.ts";

describe("a fresh database", () => {
  const used: string[] = [];

  // The hook that drops a database runs after its test, so only the last word of this file can see it.
  afterAll(async () => {
    const client = new pg.Client(inject("postgresUrl"));
    await client.connect();
    const { rows } = await client.query("SELECT datname FROM pg_database WHERE datname = ANY ($1)", [used]);
    await client.end();
    expect(rows).toEqual([]);
  });

  test("is on a real PostgreSQL whose own order of text is not the order of bytes", async () => {
    const { name, query } = await freshDatabase();
    used.push(name);
    const [row] = await query(
      `SELECT current_setting('server_version_num')::int >= 130000 AS supported,
              'a' < 'B' AS by_default, 'a' < 'B' COLLATE "C" AS by_bytes`,
    );
    expect(row).toEqual({ supported: true, by_default: true, by_bytes: false });
  });

  test("shares nothing with another one", async () => {
    const one = await freshDatabase();
    const other = await freshDatabase();
    used.push(one.name, other.name);
    await one.query("CREATE TABLE customers (id text)");
    await other.query("CREATE TABLE customers (id integer)");
    await one.query("INSERT INTO customers VALUES ($1)", ["acme"]);
    expect(await one.query("SELECT * FROM customers")).toEqual([{ id: "acme" }]);
    expect(await other.query("SELECT * FROM customers")).toEqual([]);
  });

  test("can still be asked after its sessions were ended from outside", async () => {
    const { query } = await freshDatabase();
    const [session] = await query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const admin = new pg.Client(inject("postgresUrl"));
    await admin.connect();
    await admin.query("SELECT pg_terminate_backend($1, 5000)", [session?.pid]);
    await admin.end();
    await expect.poll(() => query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("a connection left open", () => {
  test("is seen for as long as it is open, with what it did last", async () => {
    const { name, url } = await freshDatabase();
    const leak = new pg.Client({ connectionString: url, application_name: "forgetful" });
    await leak.connect();
    onTestFinished(() => leak.end());
    await leak.query("SELECT 'tenants'");

    const left = await sessionsLeft(inject("postgresUrl"), name, 0);
    expect(left).toEqual([{ application_name: "forgetful", state: "idle", query: "SELECT 'tenants'" }]);
  });

  test("is forgiven when it closes within the grace", async () => {
    const { name, url } = await freshDatabase();
    const late = new pg.Client(url);
    await late.connect();
    const left = sessionsLeft(inject("postgresUrl"), name, 30_000);
    await sleep(300);
    await late.end();
    expect(await left).toEqual([]);
  });

  test("is named in the failure", () => {
    const message = leakMessage([{ application_name: "forgetful", state: "idle", query: "SELECT 1" }]);
    expect(message).toBe(
      "1 connection(s) were left open when the test was over:\n  forgetful, idle: SELECT 1",
    );
  });
});
