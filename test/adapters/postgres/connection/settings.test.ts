import { readFileSync } from "node:fs";
import { kill } from "node:process";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  inOneRoundTrip,
  reading,
  writing,
} from "../../../../src/adapters/postgres/connection/one-round-trip.ts";
import type { Queryable } from "../../../../src/adapters/sql/connection/connections.ts";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { anApply } from "../../../builders/groups.ts";
import { begun } from "../../../builders/records.ts";
import { collect } from "../../../contracts/collect.ts";
import { leaseOf, NOW } from "../../../contracts/ledger/rig.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { startPostgres } from "../../../support/postgres/embedded-postgres.ts";
import { startPgbouncer } from "../../../support/postgres/pgbouncer.ts";
import {
  aTalkativeServer,
  canTalk,
  type TalkativeServer,
} from "../../../support/servers/talkative-server.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../../sql/ledger/ledger-database.ts";
import { postgresSource } from "../../sql/source/source-database.ts";
import { everyTokenStatement } from "../../sql/tokens/token-acts.ts";
import { aLedgerWithTokens, aTokenPlace, EXISTING, OWN, writeTokens } from "../../sql/tokens/token-place.ts";

/** Each of them would have a statement fail, say something else, or be read as something else. */
const ODD_SETTINGS: Readonly<Record<string, string>> = {
  DateStyle: "German, DMY",
  IntervalStyle: "sql_standard",
  TimeZone: "Asia/Kathmandu",
  bytea_output: "escape",
  extra_float_digits: "-15",
  array_nulls: "off",
  idle_in_transaction_session_timeout: "300ms",
  default_transaction_read_only: "on",
  default_transaction_isolation: "serializable",
  standard_conforming_strings: "off",
  client_encoding: "LATIN1",
};

const AS_SET = {
  DateStyle: "ISO, YMD",
  IntervalStyle: "iso_8601",
  TimeZone: "UTC",
  bytea_output: "hex",
  extra_float_digits: "1",
  array_nulls: "on",
};

/** A database, and a role with odd settings that may make tables there. */
async function anOddRole(): Promise<{ database: FreshDatabase; role: Role }> {
  const database = await freshDatabase("postgres");
  const role = await aRole(database);
  for (const [name, value] of Object.entries(ODD_SETTINGS))
    await database.query(`ALTER ROLE ${role.name} SET ${name} = '${value}'`);
  await database.query(`GRANT CREATE ON SCHEMA public TO ${role.name}`);
  return { database, role };
}

const asked = (names: readonly string[]): string =>
  `SELECT ${names.map((name) => `pg_catalog.current_setting('${name}') AS "${name}"`).join(", ")}`;

const READ = asked(Object.keys(AS_SET));
const WRITTEN = asked([...Object.keys(AS_SET), "transaction_read_only", "transaction_isolation"]);

async function first(connection: Queryable, text: string): Promise<unknown> {
  return (await connection.query(text))[0];
}

test("a role's settings hold for no statement", async () => {
  const { role } = await anOddRole();
  const database = aDatabase(role.url, "postgres", { maxConnections: 1 });
  const { byRolesPath, dialect } = database;
  expect(await first(database, READ)).toEqual(AS_SET);
  expect(await first(byRolesPath, READ)).toEqual(AS_SET);
  const written = { ...AS_SET, transaction_read_only: "off", transaction_isolation: "read committed" };
  expect((await byRolesPath.write(WRITTEN))[0]).toEqual(written);
  for (const begin of [dialect.begin.write, dialect.begin.lease]) {
    const within = await database.transaction(begin, (connection) => first(connection, WRITTEN));
    expect(within).toEqual(written);
  }
  for (const { stream } of [database, byRolesPath] as Pick<Database, "stream">[]) {
    const streamed = stream.call(database, dialect.begin.snapshot, READ, [], 1);
    expect((await collect(streamed)).flat()).toEqual(Object.values(AS_SET));
  }
});

test.each([
  ["reads", reading()],
  ["writes", writing()],
])("a statement that %s alone takes one round trip", async (_, transaction) => {
  const client = new pg.Client((await freshDatabase("postgres")).url);
  await client.connect();
  onTestFinished(() => client.end());
  let answers = 0;
  client.connection.on("readyForQuery", () => answers++);
  const query = { text: "SELECT $1::text AS said", values: ["it"] };
  expect((await inOneRoundTrip(client, transaction, query)).rows).toEqual([{ said: "it" }]);
  expect(answers).toBe(1);
});

test("ledger, tokens and source work for such a role", async () => {
  const { database, role } = await anOddRole();
  await database.query(
    `CREATE TABLE customers (id text, t timestamptz, d date, i interval, b float8);
     INSERT INTO customers VALUES ('a', '2026-03-01 09:30Z', '2026-03-01', '1 day 02:00', 0.1)`,
  );
  await role.grant("SELECT");
  const rows = await rowsOf(postgresSource(role.url, { table: "customers" }), ["id", "t", "d", "i", "b"]);
  expect(rows).toEqual([["a", "2026-03-01T09:30:00.000Z", "2026-03-01", "P1DT2H", 0.1]]);

  const own = aDatabase(role.url, "postgres");
  const { ledger, tokens } = await aLedgerWithTokens(own);
  const lease = await leaseOf(ledger);
  await ledger.write(lease, async (transaction) => {
    await transaction.change([begun(anApply({ user_group_id: "a" }))], NOW);
    expect(await tokens.write(someTokens({ a: "token-of-a" }), transaction)).toEqual(new Map());
  });
  expect((await ledger.scope()).lease?.expiresAt.getTime()).toBeGreaterThan(Date.now());
  expect((await tokens.read(["a"])).get("a")?.reveal()).toBe("token-of-a");
});

/** Waits until the session has rested in its transaction for longer than the role may, or is gone. */
const untilRested = async ({ query }: FreshDatabase, role: Role): Promise<void> => {
  const busy = `SELECT 1 FROM pg_stat_activity WHERE usename = $1 AND state_change > now() - interval '1 second'`;
  await expect.poll(() => query(busy, [role.name]), { timeout: 20_000 }).toEqual([]);
};

test("a reader may rest for longer than its role's transactions may", async () => {
  const { database, role } = await anOddRole();
  await database.query("CREATE TABLE customers (id text); INSERT INTO customers VALUES ('a'), ('b')");
  await role.grant("SELECT");
  const snapshot = await postgresSource(role.url, { table: "customers" }).open(["id"], "seed", NEVER);
  onTestFinished(() => snapshot.close());
  const own = aDatabase(role.url, "postgres");
  const numbers = "SELECT * FROM generate_series(1, 3)";
  const streamed = own.stream(own.dialect.begin.snapshot, numbers, [], 1)[Symbol.asyncIterator]();
  await streamed.next();
  await untilRested(database, role);
  expect((await collect(snapshot.rows())).flat()).toHaveLength(2);
  expect((await streamed.next()).done).toBe(false);
  await streamed.return?.(undefined);
});

test("a pooler's other clients notice nothing", async () => {
  const { database, role } = await anOddRole();
  const server = new URL(database.url);
  const pooler = await startPgbouncer(server.href, { mode: "transaction", poolSize: 1 }).catch((error) => {
    if (process.env.CI === "true") throw error;
    return undefined;
  });
  if (!pooler) return console.error("skipped: PgBouncer can't be had");
  onTestFinished(pooler.stop);
  const pooled = new URL(role.url);
  pooled.port = String(pooler.port);
  const application = new pg.Client(pooled.href);
  await application.connect();
  onTestFinished(() => application.end());
  const everything = asked([...Object.keys(ODD_SETTINGS), "search_path", "lock_timeout", "row_security"]);
  const before = (await application.query(everything)).rows;

  await database.query("CREATE TABLE customers (id text)");
  await role.grant("SELECT");
  const own = aDatabase(pooled.href, "postgres", { maxConnections: 1 });
  const ledger = sqlLedger(own, LOCATION, "default", HISTORY_MS);
  await ledger.prepare();
  await leaseOf(ledger);
  await own.byRolesPath.write("SELECT 1");
  await rowsOf(postgresSource(pooled.href, { table: "customers" }), ["id"]);
  expect((await application.query(everything)).rows).toEqual(before);
});

const ROLES_OWN = '"$user", public';
const PINNED = "pg_catalog, pg_temp";

/** With one connection: whatever a session kept would show. */
const aConnection = async (): Promise<Database> =>
  aDatabase((await freshDatabase("postgres")).url, "postgres", { maxConnections: 1 });

async function pathOf(connection: Queryable): Promise<string | undefined> {
  const [row] = await connection.query<{ search_path: string }>("SHOW search_path");
  return row?.search_path;
}

describe("the search_path", () => {
  test("is pinned for a statement, unless it is about a customer's table", async () => {
    const database = await aConnection();
    expect(await pathOf(database)).toBe(PINNED);
    expect(await pathOf({ query: (...asked) => database.write(...asked) })).toBe(PINNED);
    expect(await pathOf(database.byRolesPath)).toBe(ROLES_OWN);
  });

  test("is pinned for a transaction, but within a savepoint", async () => {
    const database = await aConnection();
    const { begin, savepoint } = database.dialect;
    const paths = await database.transaction(begin.write, async (connection) => {
      const [before] = [await pathOf(connection), await connection.query(savepoint.open)];
      const [within] = [await pathOf(connection), await connection.query(savepoint.release)];
      const [after] = [await pathOf(connection), await connection.query(savepoint.open)];
      await connection.query("ROLLBACK TO SAVEPOINT groupsync");
      return { before, within, after, takenBack: await pathOf(connection) };
    });
    expect(paths).toEqual({ before: PINNED, within: ROLES_OWN, after: PINNED, takenBack: PINNED });
    expect(await pathOf(database.byRolesPath)).toBe(ROLES_OWN);
  });

  test("is the session's where a pooler has set one", async () => {
    const database = await aConnection();
    await database.byRolesPath.query("SET search_path = theirs, public");
    const { begin, savepoint } = database.dialect;
    const within = await database.transaction(begin.write, async (connection) => {
      await connection.query(savepoint.open);
      return pathOf(connection);
    });
    expect(within).toBe("theirs, public");
    expect(await pathOf(database.byRolesPath)).toBe("theirs, public");
  });

  test("is pinned for a stream, and the role's for one of a customer's table", async () => {
    const database = await aConnection();
    const read = async ({ stream }: Pick<Database, "stream">): Promise<unknown> => {
      const batches = stream.call(database, ["BEGIN"], "SELECT current_setting('search_path')", [], 1);
      for await (const [row] of batches) return row;
      return undefined;
    };
    expect(await read(database)).toEqual([PINNED]);
    expect(await read(database.byRolesPath)).toEqual([ROLES_OWN]);
  });
});

test.each(["with the ledger", "elsewhere"] as const)(
  "a customer's trigger finds what it names: tokens %s",
  async (where) => {
    const place = await aTokenPlace(EXISTING, where, ["a", "b"], "postgres");
    for (const statement of [
      "CREATE TABLE written (id text)",
      `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN INSERT INTO written VALUES (NEW.id); RETURN NEW; END'`,
      `CREATE TRIGGER note BEFORE UPDATE ON ${EXISTING.table} FOR EACH ROW EXECUTE FUNCTION note()`,
    ]) {
      await place.tokens.query(statement);
    }
    await place.store.prepare();
    expect(await writeTokens(place, { a: "token-of-a" })).toEqual(new Map());
    const [token] = someTokens({ b: "token-of-b" });
    if (token && place.beside) expect(await place.beside.writeAtOnce(token)).toBe(true);
    expect(await place.tokens.query("SELECT id FROM written ORDER BY id")).toEqual(
      place.beside ? [{ id: "a" }, { id: "b" }] : [{ id: "a" }],
    );
  },
);

/** What docs/security.md has the administrator run. */
const [, DOCUMENTED = ""] =
  /^```sql\n((?:ALTER ROLE groupsync SET log_.*\n)+)```$/m.exec(
    readFileSync(new URL("../../../../docs/security.md", import.meta.url), "utf8"),
  ) ?? [];

/** The entries of the log that have one of the tokens that were used. */
async function entriesWithTokens({ database, logged }: TalkativeServer): Promise<readonly string[]> {
  const tokens = await everyTokenStatement(aDatabase(database.url, "postgres"));
  return (await logged()).filter((entry) => tokens.some((token) => entry.includes(token)));
}

describe.skipIf(!canTalk("postgres"))("a server that logs everything", () => {
  test("has tokens as parameters and in rows that fail, but never in a statement or with an error", async () => {
    const entries = await entriesWithTokens(await aTalkativeServer("postgres"));
    const kinds = new Set(entries.map((entry) => entry.replace(/ *(?:\$\d|\().*/s, "")));
    expect([...kinds].sort()).toEqual(["DETAIL:  Failing row contains", "DETAIL:  Parameters:"]);
  });

  test("is asked to do without for a transaction, and not for a session that others may get next", async () => {
    const { url } = (await aTalkativeServer("postgres")).database;
    const database = aDatabase(url, "postgres", { maxConnections: 1 });
    const setting = "SHOW log_parameter_max_length_on_error";
    const inside = await database.transaction(database.dialect.begin.write, ({ query }) => query(setting));
    expect(inside).toEqual([{ log_parameter_max_length_on_error: "0" }]);
    expect(await database.query(setting)).toEqual([{ log_parameter_max_length_on_error: "-1" }]);
  });

  test("has none with the settings that are documented", async () => {
    const server = await aTalkativeServer("postgres");
    expect(DOCUMENTED).toContain("log_error_verbosity");
    await server.asAdministrator(DOCUMENTED);
    expect(await entriesWithTokens(server)).toEqual([]);
  });
});

/** What the crash of a server that commits asynchronously takes back, for as long as it takes the test. */
const FORGETFUL = { synchronous_commit: "off", wal_writer_delay: "10s" };

/** A ledger and its tokens on a server of their own, and another database that nothing shares with them. */
async function aForgetfulServer() {
  const server = await startPostgres({ settings: FORGETFUL });
  onTestFinished(server.stop);
  const database = aDatabase(server.url, "postgres");
  return { server, database, ...(await aLedgerWithTokens(database)) };
}

/** As SIGKILL to the whole server: the postmaster starts all over, from what was written to the disk. */
async function crash(database: Database): Promise<void> {
  const [session] = await database.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  kill(session?.pid ?? 0, "SIGKILL");
  await expect.poll(() => database.query("SELECT 1").catch(() => []), { timeout: 30_000 }).toHaveLength(1);
}

// Where the run was given a server, PostgreSQL need not be installed.
describe.skipIf(process.env.GROUPSYNC_TEST_POSTGRES_URL)("on a server that commits asynchronously", () => {
  test("a commit that custody does not depend on is lost in a crash", async () => {
    const { database } = await aForgetfulServer();
    await database.query("CREATE TABLE public.anything AS SELECT 1 AS one");
    await crash(database);
    await expect(database.query("SELECT * FROM public.anything")).rejects.toThrow("anything");
  });

  test("a lease that was taken, and then renewed, survives a crash", async () => {
    const { database, ledger } = await aForgetfulServer();
    const lease = await leaseOf(ledger);
    await crash(database);
    const before = (await ledger.scope()).lease;
    expect(before).toMatchObject(lease);
    expect(await ledger.renewLease(lease, 600_000)).toBeUndefined();
    await crash(database);
    const { lease: after } = await ledger.scope();
    expect(after?.expiresAt.getTime()).toBeGreaterThan(before?.expiresAt.getTime() ?? Infinity);
  });

  test("an intent and a token in the ledger's transaction survive a crash", async () => {
    const { database, ledger, tokens } = await aForgetfulServer();
    const lease = await leaseOf(ledger);
    await ledger.write(lease, async (transaction) => {
      await transaction.change([begun(anApply())], NOW);
      await tokens.write(someTokens({ acme: "new" }), transaction);
    });
    await crash(database);
    expect((await ledger.sums()).counts).toMatchObject({ under_way: 1 });
    expect((await tokens.read(["acme"])).get("acme")?.reveal()).toBe("new");
  });

  test("a token that is written at once survives a crash", async () => {
    const { database, ledger, tokens } = await aForgetfulServer();
    const lease = await leaseOf(ledger);
    const token = { user_group_id: "acme", token: new Secret("new") };
    expect(await tokens.writeAtOnce(token, lease)).toBe(true);
    await crash(database);
    expect((await tokens.read(["acme"])).get("acme")?.reveal()).toBe("new");
  });

  test("a token in another database than the ledger's survives a crash, and so does its removal", async () => {
    const { database } = await aForgetfulServer();
    const tokens = new SqlTokenTable(database, OWN);
    for (const token of someTokens({ acme: "new", gone: "old" })) await tokens.put(token);
    await crash(database);
    expect([...(await tokens.read(["acme", "gone"])).keys()].sort()).toEqual(["acme", "gone"]);
    await tokens.drop("gone");
    await crash(database);
    expect([...(await tokens.read(["acme", "gone"])).keys()]).toEqual(["acme"]);
  });
});

test.each([
  ["off", "local"],
  ["local", "local"],
  ["on", "on"],
  ["remote_write", "remote_write"],
])("of synchronous_commit, the value %s becomes %s", async (set, becomes) => {
  const { url, name, query } = await freshDatabase("postgres");
  await query(`ALTER DATABASE ${name} SET synchronous_commit = ${set}`);
  const database = aDatabase(url, "postgres");
  const { write, lease } = database.dialect.begin;
  for (const begin of [write, lease]) {
    const value = await database.transaction(begin, (connection) =>
      connection.query<{ value: string }>("SELECT current_setting('synchronous_commit') AS value"),
    );
    expect(value).toEqual([{ value: becomes }]);
  }
  expect(await database.query("SHOW synchronous_commit")).toEqual([{ synchronous_commit: set }]);
});
