import { expect, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../support/databases/fresh-database.ts";
import { documentedSql } from "../support/documented-sql.ts";
import { rounds } from "../support/long.ts";
import { tcpProxy } from "../support/servers/tcp-proxy.ts";
import { LiveNoticing } from "./live-noticing.ts";

const PAGE = "docs/new-tenants.md";

/** A table without a change column, with the SQL of the page run on it. */
async function documented(kind: "postgres" | "mysql", wanted: RegExp): Promise<FreshDatabase> {
  const database = await freshDatabase(kind);
  await database.query("CREATE TABLE customers (id varchar(1000), name varchar(100))");
  await database.query("INSERT INTO customers VALUES ('old', 'Old')");
  await database.query("CREATE TABLE workspaces (customer_id varchar(1000), warehouse varchar(100))");
  const blocks = documentedSql(PAGE, kind).filter((sql) => wanted.test(sql));
  expect(blocks.length).toBeGreaterThan(0);
  for (const sql of blocks) await database.query(sql);
  return database;
}

const insert = ({ query }: FreshDatabase, ...ids: readonly string[]) =>
  query(`INSERT INTO customers (id, name) VALUES ${ids.map((id) => `('${id}', 'Name')`).join(", ")}`);

const COLUMN = /updated_at/;
const CHANNEL = /pg_notify/;
const column = { column: "updated_at", every: "100ms" };
const channel = { channel: "customers_changed" };

test.each(["postgres", "mysql"] as const)(
  "the page's column, index and triggers on %s name new and changed tenants",
  async (kind) => {
    const database = await documented(kind, COLUMN);
    const live = await LiveNoticing.start(database.url, column);
    expect(live.state.column).toMatchObject({ failure: null });
    await insert(database, "a", "b");
    await live.until("a", "b");
    live.take();
    await database.query("UPDATE customers SET name = 'Another' WHERE id = 'old'");
    await live.until("old");
    expect(live.take()).toEqual(["old"]);
    for (const change of [
      "INSERT INTO workspaces VALUES ('old', 'w')",
      "UPDATE workspaces SET warehouse = 'x'",
    ]) {
      await database.query(change);
      await live.until("old");
      live.take();
    }
    expect(live.log.filter(({ level }) => level === "warn")).toEqual([]);
  },
);

test("the page's trigger names inserted and updated tenants", async () => {
  const database = await documented("postgres", CHANNEL);
  const live = await LiveNoticing.start(database.url, channel);
  await insert(database, "a", "Zürich 😀");
  await live.until("a", "Zürich 😀");
  await database.query("UPDATE customers SET name = 'Another' WHERE id = 'old'");
  await live.until("old");
  await database.query("UPDATE customers SET name = 'Another' WHERE false");
  await database.query("DELETE FROM customers WHERE id = 'old'");
  await insert(database, "last");
  await live.until("last");
  expect(live.take()).toEqual(["a", "Zürich 😀", "old", "last"]);
});

test.each([
  ["a hundred tenants by their ids", 100, "x", 100],
  ["more than a hundred by one notice", 101, "x", 1],
  ["an id that is as long as an id may be", 1, "x".repeat(511), 1],
])("the page's trigger names %s", async (_, count, prefix, notices) => {
  const database = await documented("postgres", CHANNEL);
  const live = await LiveNoticing.start(database.url, channel);
  const ids = Array.from({ length: count }, (_, n) => `${prefix}${n}`);
  await insert(database, ...ids);
  await live.until(...(notices === count ? ids : ["anything"]));
  expect(live.take()).toHaveLength(notices);
});

test("the page's trigger never aborts an INSERT", async () => {
  const database = await documented("postgres", CHANNEL);
  await database.query("ALTER TABLE customers ALTER id TYPE text");
  const live = await LiveNoticing.start(database.url, channel);
  await insert(database, "x".repeat(513), "y");
  await live.until("anything");
  live.take();
  await insert(database, "x".repeat(9_000));
  await live.until("anything");
  live.take();
  await database.query("INSERT INTO customers VALUES (NULL, 'Nobody')");
  await live.until("anything");
  expect(await database.query("SELECT count(*)::int AS rows FROM customers")).toEqual([{ rows: 5 }]);
});

test("a way that can't work says why, and the other one goes on", async () => {
  const database = await documented("postgres", /updated_at|pg_notify/);
  const live = await LiveNoticing.start(database.url, { column: "updated", ...channel });
  expect(live.state).toMatchObject({
    column: { failure: { code: "CONFIG_COLUMNS" } },
    channel: { failure: null },
  });
  await insert(database, "a");
  await live.until("a");
});

const CUTS = rounds(100);

test(`no tenant is lost if the connection is cut ${CUTS} times`, async () => {
  const database = await documented("postgres", /updated_at|pg_notify/);
  const line = await tcpProxy(database.url);
  // So that only the channel, and the look after each new connection, can find anything in time.
  const live = await LiveNoticing.start(line.url, { ...column, every: "1h", ...channel });
  await live.until();
  for (let cut = 0; cut < CUTS; cut++) {
    await insert(database, `before-${cut}`);
    if (cut % 2 === 0) line.limit(0);
    else {
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'groupsync:default' AND datname = current_database()",
      );
    }
    await insert(database, `during-${cut}`);
    line.limit(Number.POSITIVE_INFINITY);
    await insert(database, `after-${cut}`);
    await live.until(`before-${cut}`, `during-${cut}`, `after-${cut}`);
    await live.untilAlive("channel");
    live.take();
  }
});
