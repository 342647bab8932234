import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { failures } from "../../../../src/adapters/postgres/connection/failures.ts";
import { WRITE } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aGroup, aRole } from "../../../support/databases/role.ts";
import { LONG } from "../../../support/long.ts";
import { startPostgres } from "../../../support/postgres/embedded-postgres.ts";
import { behindPgbouncer } from "../../../support/postgres/pgbouncer.ts";
import { startStandby } from "../../../support/postgres/standby.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";

const open = (url: string, lockMs = 30_000, applicationName = "groupsync:hints"): Database =>
  aDatabase(url, "postgres", {
    applicationName,
    maxConnections: 2,
    timeouts: { lockMs, silenceMs: 600_000 },
  });

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function failureOf(work: Promise<unknown>): Promise<{ message: string; hint: string | undefined }> {
  const error: unknown = await work.then(
    () => new Error("it went well"),
    (reason: unknown) => reason,
  );
  return { message: error instanceof Error ? error.message : "", hint: failures.hintFor(error) };
}

/** Makes a table that anybody may read, and locks it. Resolves to the id of the session that holds the lock. */
async function lockedTable(url: string, name = "t"): Promise<number> {
  const holder = await connected(url);
  await holder.query(`CREATE TABLE ${name} (n int); GRANT SELECT ON ${name} TO PUBLIC`);
  await holder.query(`BEGIN; LOCK TABLE ${name}`);
  const { rows } = await holder.query("SELECT pg_backend_pid() AS pid");
  return rows[0].pid;
}

const write = (database: Database) => database.transaction(database.dialect.begin.write, async () => {});

test("a pool without a connection to spare, and a full pooler", async () => {
  const { url } = await freshDatabase("postgres");
  const pooled = await behindPgbouncer(url, {
    mode: "transaction",
    poolSize: 1,
    settings: { query_wait_timeout: "1", max_client_conn: "2" },
  });
  const database = open(pooled);
  await (await connected(pooled)).query("BEGIN; SELECT 1");
  expect(await failureOf(database.query("SELECT 1"))).toEqual({
    message: "query_wait_timeout",
    hint: expect.stringContaining("a sync uses three at once"),
  });

  await connected(pooled);
  expect(await failureOf(database.query("SELECT 1"))).toEqual({
    message: expect.stringContaining("max_client_conn"),
    hint: expect.stringContaining("raise max_client_conn"),
  });
});

test("the holder of a lock, through a pooler that has ids of its own for sessions", async () => {
  const { url } = await freshDatabase("postgres");
  const pid = await lockedTable(url);
  const database = open(await behindPgbouncer(url, { mode: "transaction", poolSize: 3 }), 3_000);
  expect(await failureOf(database.query("SELECT * FROM public.t"))).toEqual({
    message: expect.stringMatching(`lock timeout; held by session ${pid} `),
    hint: expect.stringContaining("end its work"),
  });
});

test.each<[string, (fresh: FreshDatabase) => Promise<Database>]>([
  [
    "a session whose program has the longest name",
    async ({ url }) => open(url, 3_000, `groupsync:${"n".repeat(64)}`),
  ],
  [
    "a user who works with the rights of another role",
    async (fresh) => {
      const [login, reader] = [await aRole(fresh), await aGroup(fresh, "reader")];
      await fresh.query(`GRANT ${reader} TO ${login.name}`);
      await fresh.query(`ALTER ROLE ${login.name} SET role = '${reader}'`);
      return open(login.url, 3_000);
    },
  ],
])("the holder of a lock, for %s", async (_, openIt) => {
  const fresh = await freshDatabase("postgres");
  const pid = await lockedTable(fresh.url);
  const database = await openIt(fresh);
  const { message } = await failureOf(database.query("SELECT * FROM public.t"));
  expect(message).toContain(`held by session ${pid} `);
});

test("a pooler that gives each statement another connection", async () => {
  const { url } = await freshDatabase("postgres");
  const database = open(await behindPgbouncer(url, { mode: "statement", poolSize: 1 }));
  expect(await failureOf(write(database))).toEqual({
    message: expect.stringContaining("statement pooling mode"),
    hint: expect.stringContaining("set pool_mode"),
  });
});

test("a transaction that the server ends between two statements, because it is too long", async () => {
  const url = new URL((await freshDatabase("postgres")).url);
  url.searchParams.set("options", "-c transaction_timeout=300");
  const database = open(url.href);
  const late = database.transaction(database.dialect.begin.write, async (connection) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await connection.query("SELECT 1");
  });
  expect(await failureOf(late)).toEqual({
    message: expect.stringContaining("transaction timeout"),
    hint: expect.stringContaining("transaction_timeout to 0"),
  });
});

test.runIf(LONG)("a commit that waits for a synchronous standby", async () => {
  const server = await startPostgres({
    settings: { synchronous_commit: "on", synchronous_standby_names: "nobody" },
  });
  onTestFinished(() => server.stop());
  const admin = await connected(server.url);
  await admin.query("SET synchronous_commit = local; CREATE TABLE t (n int)");
  const database = open(server.url);
  const waits = database.transaction(
    database.dialect.begin.write,
    (connection) => connection.query("INSERT INTO public.t VALUES (1)"),
    { ...WRITE, answerMs: 2_000, lockMs: 600 },
  );
  expect(await failureOf(waits)).toEqual({
    message: expect.stringMatching(/has not answered for 2 s; the commit waits for a synchronous standby/),
    hint: expect.stringContaining("synchronous_standby_names"),
  });
});

test.runIf(LONG)("a standby that takes no writes, and one that ends a read which is in its way", async () => {
  const primary = await startPostgres({ settings: { wal_level: "replica" } });
  onTestFinished(() => primary.stop());
  const admin = await connected(primary.url);
  await admin.query("CREATE TABLE t (n int)");
  const standby = await startStandby(primary, "standby", {
    settings: { max_standby_streaming_delay: "0" },
  });
  onTestFinished(() => standby.stop());
  const database = open(standby.url);

  expect(await failureOf(write(database))).toEqual({
    message: expect.stringContaining("during recovery"),
    hint: expect.stringContaining("the primary server's host"),
  });

  const read = database.transaction(database.dialect.begin.snapshot, async (connection) => {
    await connection.query("SELECT * FROM public.t");
    await admin.query("ALTER TABLE t ALTER n SET DEFAULT 1");
    await connection.query("SELECT pg_sleep(60)");
  });
  expect(await failureOf(read)).toEqual({
    message: expect.stringContaining("conflict with recovery"),
    hint: expect.stringContaining("hot_standby_feedback"),
  });
});

test.each([
  ["FEHLER", "23514", false],
  ["ОШИБКА", "42501", false],
  ["FEHLER", "57014", false],
  ["ОШИБКА", "53100", true],
  ["FATAL", "57P01", true],
  ["ВАЖНО", "57P01", true],
  ["치명적오류", "25P03", true],
  ["ВАЖНО", "28P01", true],
  ["KATASTROFALNY", "53300", true],
])("in any language, %s with SQLSTATE %s concerns all tenants: %s", (severity, code, isGeneral) => {
  const error = Object.assign(new pg.DatabaseError("…", 1, "error"), { severity, code });
  expect(failures.isGeneral(error)).toBe(isGeneral);
});
