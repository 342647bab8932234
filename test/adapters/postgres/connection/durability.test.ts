import { kill } from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { anApply } from "../../../builders/groups.ts";
import { leaseOf, NOW } from "../../../contracts/ledger/rig.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { startPostgres } from "../../../support/postgres/embedded-postgres.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../../sql/ledger/ledger-database.ts";
import { OWN } from "../../sql/tokens/token-place.ts";

/** What the crash of a server that commits asynchronously takes back, for as long as it takes the test. */
const FORGETFUL = { synchronous_commit: "off", wal_writer_delay: "10s" };

/** A ledger and its tokens on a server of their own, and another database that nothing shares with them. */
async function aForgetfulServer() {
  const server = await startPostgres({ settings: FORGETFUL });
  onTestFinished(server.stop);
  const database = aDatabase(server.url, "postgres");
  const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
  const tokens = new SqlTokenTable(database, OWN, ledger);
  await ledger.prepare();
  await tokens.prepare();
  return { server, database, ledger, tokens };
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
    const before = (await ledger.status()).lease;
    expect(before).toMatchObject(lease);
    expect(await ledger.renewLease(lease, 600_000)).toBe(true);
    await crash(database);
    const { lease: after } = await ledger.status();
    expect(after?.expiresAt.getTime()).toBeGreaterThan(before?.expiresAt.getTime() ?? Infinity);
  });

  test("an intent and a token in the ledger's transaction survive a crash", async () => {
    const { database, ledger, tokens } = await aForgetfulServer();
    const lease = await leaseOf(ledger);
    await ledger.write(lease, async (transaction) => {
      await transaction.begin([anApply()], NOW);
      await tokens.write(someTokens({ acme: "new" }), transaction);
    });
    await crash(database);
    expect((await ledger.status()).groups).toMatchObject({ under_way: 1 });
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
    const elsewhere = await freshDatabase("postgres");
    const ledger = sqlLedger(aDatabase(elsewhere.url, "postgres"), LOCATION, "default", HISTORY_MS);
    await ledger.prepare();
    const lease = await leaseOf(ledger);
    const written = someTokens({ acme: "new", gone: "old" });
    await ledger.write(lease, (transaction) => tokens.write(written, transaction));
    await crash(database);
    expect([...(await tokens.read(["acme", "gone"])).keys()].sort()).toEqual(["acme", "gone"]);
    await ledger.write(lease, (transaction) => tokens.remove(["gone"], transaction));
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
