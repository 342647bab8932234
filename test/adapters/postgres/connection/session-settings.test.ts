import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import {
  inOneRoundTrip,
  reading,
  writing,
} from "../../../../src/adapters/postgres/connection/one-round-trip.ts";
import type { Queryable } from "../../../../src/adapters/sql/connection/connections.ts";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { anApply } from "../../../builders/groups.ts";
import { collect } from "../../../contracts/collect.ts";
import { leaseOf, NOW } from "../../../contracts/ledger/rig.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { startPgbouncer } from "../../../support/postgres/pgbouncer.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../../sql/ledger/ledger-database.ts";
import { OWN } from "../../sql/tokens/token-place.ts";
import { postgresSource } from "../source/source-database.ts";

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
  const ledger = sqlLedger(own, LOCATION, "default", HISTORY_MS);
  const tokens = new SqlTokenTable(own, OWN, ledger);
  await ledger.prepare();
  await tokens.prepare();
  const lease = await leaseOf(ledger);
  await ledger.write(lease, async (transaction) => {
    await transaction.begin([anApply({ user_group_id: "a" })], NOW);
    expect(await tokens.write(someTokens({ a: "token-of-a" }), transaction)).toEqual(new Map());
  });
  expect((await ledger.status()).lease?.expiresAt.getTime()).toBeGreaterThan(Date.now());
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
