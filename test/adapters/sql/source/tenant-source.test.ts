import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, onTestFinished, test } from "vitest";
import type { SessionTimeouts } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import type { SyncError } from "../../../../src/core/failure/sync-error.ts";
import type { TenantSnapshot } from "../../../../src/ports/tenant-source.ts";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import { tenantSourceContract } from "../../../contracts/tenant-source.ts";
import { endSessions } from "../../../support/databases/end-sessions.ts";
import {
  type DatabaseKind,
  type FreshDatabase,
  freshDatabase,
} from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { lockTable, untilWaiting } from "../../../support/databases/table-lock.ts";
import { listening } from "../../../support/servers/listening.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { SOURCES, sourceDatabase } from "./source-database.ts";

const kind = inject("databaseKind");

tenantSourceContract({ postgres: "PostgreSQL", mysql: "MySQL" }[kind], sourceDatabase);

const SHORT_LOCKS: SessionTimeouts = { lockMs: 4_000, silenceMs: 600_000 };
const SHORT_SILENCE: SessionTimeouts = { lockMs: 30_000, silenceMs: 4_000 };

type UrlPart = "username" | "password" | "hostname" | "port" | "pathname" | "search";

interface Words {
  /** What is wrong with the url, what the error says of it, and its hint. */
  readonly refused: readonly (readonly [
    what: string,
    change: Partial<Record<UrlPart, string>>,
    message: RegExp,
    hint: RegExp,
  ])[];
  /** Rows that take their time, and of which none is sent for seconds. */
  readonly slow: string;
  readonly manyRows: string;
  /** Functions `refuse`, each of which says in its own words that a right is missing. */
  readonly refusing: readonly string[];
  /** A function that inserts a row, and queries that call it or do so themselves. */
  readonly greedy: { readonly create: string; readonly queries: readonly string[] };
}

const refusingInMysql = (errno: number, message: string): string =>
  `CREATE FUNCTION refuse() RETURNS text DETERMINISTIC
   BEGIN SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = '${message.replaceAll("'", "''")}'; RETURN ''; END`;

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    refused: [
      ["password", { password: "hunter2" }, /password authentication failed/, /user and password/],
      ["user", { username: "nobody" }, /"nobody"/, /user and password/],
      ["database", { pathname: "/nowhere" }, /"nowhere" does not exist/, /database's name/],
      ["host", { hostname: "db.invalid", search: "sslmode=disable" }, /db\.invalid/, /host/],
      ["port", { port: "1" }, /ECONNREFUSED/, /is the database running/],
    ],
    slow: "SELECT id, pg_sleep(1)::text AS name FROM customers",
    manyRows:
      "INSERT INTO customers SELECT 't-' || n, repeat('x', 500) FROM generate_series(1, 20000) AS s (n)",
    refusing: ["table groupsync_tokens", "function f() TO PUBLIC; --"].map(
      (object) => `CREATE FUNCTION refuse() RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'permission denied for ${object}' USING ERRCODE = '42501'; END $$`,
    ),
    greedy: {
      create: `CREATE FUNCTION greedy() RETURNS SETOF customers LANGUAGE sql AS
        $$ INSERT INTO customers VALUES ('new') RETURNING * $$`,
      queries: [
        "SELECT * FROM greedy()",
        "WITH new AS (INSERT INTO customers VALUES ('new') RETURNING *) SELECT * FROM new",
      ],
    },
  },
  mysql: {
    refused: [
      ["password", { password: "hunter2" }, /Access denied/, /user and password/],
      ["user", { username: "nobody" }, /'nobody'/, /user and password/],
      ["database", { pathname: "/nowhere" }, /'nowhere'/, /database's name/],
      ["host", { hostname: "db.invalid", search: "ssl-mode=DISABLED" }, /db\.invalid/, /host/],
      ["port", { port: "1" }, /ECONNREFUSED/, /is the database running/],
    ],
    slow: "SELECT id, CAST(SLEEP(1) AS CHAR) AS name FROM customers",
    manyRows: `INSERT INTO customers WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 150)
      SELECT concat('t-', a.n, '-', b.n), repeat('x', 500) FROM s AS a CROSS JOIN s AS b`,
    refusing: [
      refusingInMysql(1142, "SELECT command denied to user 'reader'@'%' for table 'groupsync_tokens'"),
      refusingInMysql(
        1143,
        "SELECT command denied to user 'reader'@'%' for column 'token' in table 'tokens'",
      ),
      refusingInMysql(1370, "execute command denied to user 'reader'@'%' for routine 'tokens.all'"),
    ],
    greedy: {
      create: `CREATE FUNCTION greedy() RETURNS int DETERMINISTIC MODIFIES SQL DATA
        BEGIN INSERT INTO customers (id) VALUES ('new'); RETURN 1; END`,
      queries: ["SELECT id, greedy() AS n FROM customers"],
    },
  },
};
const words = WORDS[kind];

async function customers(): Promise<FreshDatabase> {
  const database = await freshDatabase();
  await database.query("CREATE TABLE customers (id varchar(40), name text)");
  await database.query("INSERT INTO customers VALUES ('a', 'A'), ('b', 'B'), ('c', 'C')");
  return database;
}

/** The snapshot once its first batch has come, and the rest of its rows. */
async function midRead(
  url: string,
  timeouts: SessionTimeouts,
): Promise<[TenantSnapshot, () => Promise<unknown>]> {
  const snapshot = await SOURCES[kind](url, { table: "customers" }, timeouts).open(
    ["id", "name"],
    "seed",
    NEVER,
  );
  onTestFinished(() => snapshot.close());
  const rows = snapshot.rows()[Symbol.asyncIterator]();
  await rows.next();
  return [
    snapshot,
    async () => {
      while ((await rows.next()).done !== true);
    },
  ];
}

test("a read gives up on a locked table after a while, and names the lock's holder", async () => {
  const database = await customers();
  const { session } = await lockTable(database, "customers");
  const source = SOURCES[kind](database.url, { table: "customers" }, SHORT_LOCKS);
  await expect(rowsOf(source, ["id"])).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringMatching(new RegExp(`^cannot read customers: .*session ${session}\\b`)),
    hint: expect.stringContaining("end its work"),
  });
});

test("a stop ends a wait for a lock, and leaves no session behind that waits", async () => {
  const database = await customers();
  await lockTable(database, "customers");
  const stop = new AbortController();
  const opened = SOURCES[kind](database.url, { table: "customers" }).open(["id"], "seed", stop.signal);
  const rejected = expect(opened).rejects.toMatchObject({ code: "INTERRUPTED" });
  await untilWaiting(database, 1);
  stop.abort();
  await rejected;
  await untilWaiting(database, 0);
});

test("a stop ends a slow query", async () => {
  const database = await customers();
  const stop = new AbortController();
  const source = SOURCES[kind](database.url, { query: words.slow });
  const snapshot = await source.open(["id", "name"], "seed", stop.signal);
  onTestFinished(() => snapshot.close());
  const next = snapshot.rows()[Symbol.asyncIterator]().next();
  stop.abort();
  await expect(next).rejects.toMatchObject({ code: "INTERRUPTED" });
  await expect(snapshot.buckets()).rejects.toMatchObject({ code: "INTERRUPTED" });
});

test("a read ends if its connection falls silent, and an idle connection does not", async () => {
  const database = await customers();
  await database.query(words.manyRows);
  const line = await tcpProxy(database.url);
  const [, rest] = await midRead(line.url, SHORT_SILENCE);
  await sleep(5_000);
  line.swallow(true);
  await expect(rest()).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringContaining("the database has not answered for 4 s"),
  });
});

test("a read whose line breaks at any of its last bytes ends, and says so", async () => {
  const database = await customers();
  const line = await tcpProxy(database.url);
  const source = SOURCES[kind](line.url, { table: "customers" });
  line.limit(Number.POSITIVE_INFINITY);
  const rows = await rowsOf(source, ["id", "name"]);
  const whole = line.passed();
  for (let bytes = whole - 60; bytes < whole; bytes++) {
    line.limit(bytes);
    const read = Promise.race([rowsOf(source, ["id", "name"]), sleep(5_000, "goes on", { ref: false })]);
    const ended = await read.catch(({ code }: SyncError) => code);
    expect({ bytes, ended }).toEqual({ bytes, ended: expect.toBeOneOf(["SOURCE_UNAVAILABLE", rows]) });
  }
});

test.each(words.refused)(
  "a wrong %s is told with what to do, and without the password",
  async (_, change, message, hint) => {
    const { url } = await freshDatabase();
    const source = SOURCES[kind](Object.assign(new URL(url), change).href, { table: "customers" });
    const error = await rejection(rowsOf(source, ["id"]));
    expect(error).toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
    expect(everythingIn(error)).not.toContain("hunter2");
  },
);

test.each([
  ["that is none", "HTTP/1.1 400 Bad Request\r\n\r\n"],
  ["that hangs up", ""],
])("a server %s", async (_, greeting) => {
  const { port } = await listening(createServer((socket) => socket.end(greeting)));
  const source = SOURCES[kind](`${kind}://user:hunter2@127.0.0.1:${port}/db`, { table: "customers" });
  await expect(rowsOf(source, ["id"])).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE" });
});

test("a read whose connection the server ends says so, between two statements and in the middle", async () => {
  const database = await customers();
  await database.query(words.manyRows);
  const lost = {
    code: "SOURCE_UNAVAILABLE",
    // Under load the reset may overtake the server's words.
    message: expect.stringMatching(/^cannot read customers: .*(terminat|lost|closed|killed|ECONNRESET)/i),
  };
  const idle = await SOURCES[kind](database.url, { table: "customers" }).open(["id"], "seed", NEVER);
  await endSessions(database);
  await expect(idle.buckets()).rejects.toMatchObject(lost);
  await idle.close();
  const [, rest] = await midRead(database.url, SHORT_SILENCE);
  await endSessions(database);
  await expect(rest()).rejects.toMatchObject(lost);
});

test("a table that the role may not read is told with a GRANT that helps", async () => {
  const database = await customers();
  const { name, url } = await aRole(database);
  const read = () => rowsOf(SOURCES[kind](url, { table: "customers" }), ["id"]);
  const { code, message, hint = "" } = (await rejection(read())) as SyncError;
  expect({ code, message }).toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringMatching(/^cannot read customers: permission denied for table customers/),
  });
  const [statement = ""] = /^GRANT SELECT ON \S+customers. TO [^\s,]+/.exec(hint) ?? [];
  expect(statement).toContain(name);
  await database.query(statement);
  expect(await read()).toHaveLength(3);
});

test.each(words.refusing)(
  "somebody else's code that says that it lacks a right gets none: %s",
  async (statement) => {
    const { url, query } = await freshDatabase();
    await query(statement);
    await query("CREATE VIEW customers AS SELECT refuse() AS id");
    for (const options of [{ table: "customers" }, { query: "SELECT id FROM customers" }])
      await expect(rowsOf(SOURCES[kind](url, options), ["id"])).rejects.toMatchObject({
        code: "SOURCE_UNAVAILABLE",
        hint: expect.stringMatching(
          /^(find out why \S+ needs that, for whoever owns a view or a function in it|look at the view with SHOW CREATE VIEW)/,
        ),
      });
  },
);

test("a query can change nothing", async () => {
  const { url, query } = await customers();
  await query(words.greedy.create);
  for (const greedy of words.greedy.queries)
    await expect(rowsOf(SOURCES[kind](url, { query: greedy }), ["id"])).rejects.toMatchObject({
      code: "CONFIG_SOURCE",
    });
  expect(await query("SELECT * FROM customers")).toHaveLength(3);
});
