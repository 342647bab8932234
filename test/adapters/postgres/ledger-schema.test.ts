import { expect, test } from "vitest";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import { SqlLedgerView } from "../../../src/adapters/sql/ledger-view.ts";
import { collect } from "../../contracts/collect.ts";
import { aDatabase, LOCATION, ledgerDatabase } from "../sql/ledger-database.ts";
import { latin1Database } from "./latin1-database.ts";
import { aRole } from "./roles.ts";

const OPS = { schema: "Ops Team", tablePrefix: "Sync_" };

test("the ledger makes its schema where there is none", async () => {
  const { url, tables } = await ledgerDatabase();
  const ledgers = ["a", "b", "c"].map((scope) => new SqlLedger(aDatabase(url), OPS, scope));
  await Promise.all(ledgers.map((ledger) => ledger.prepare()));
  expect(await tables()).toContain('"Ops Team"."Sync_groups"');
  expect(await collect(new SqlLedgerView(aDatabase(url), OPS, "a").groups())).toEqual([]);
});

test("a schema that exists is enough: no right to create another one is needed", async () => {
  const database = await ledgerDatabase();
  await database.query('CREATE SCHEMA "Ops Team"');
  const { name, url } = await aRole(database);
  await database.query(`GRANT USAGE, CREATE ON SCHEMA "Ops Team" TO ${name}`);
  await new SqlLedger(aDatabase(url), OPS, "a").prepare();
  expect(await database.tables()).toContain('"Ops Team"."Sync_groups"');
});

test("a ledger that is there needs no right to create anything", async () => {
  const database = await ledgerDatabase();
  await new SqlLedger(aDatabase(database.url), LOCATION, "a").prepare();
  const { name, url } = await aRole(database);
  await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`);
  const ledger = new SqlLedger(aDatabase(url), LOCATION, "a");
  await ledger.prepare();
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind === "held") throw new Error("the lease should be free");
  await ledger.write(attempt.lease, (transaction) => transaction.startRun("sync", new Date()));
  expect((await ledger.status()).runs).toHaveLength(1);
});

test("without the right to create tables it says so", async () => {
  const database = await ledgerDatabase();
  const { url } = await aRole(database);
  await expect(new SqlLedger(aDatabase(url), LOCATION, "a").prepare()).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringContaining("permission denied for schema public"),
    hint: expect.stringContaining("grant"),
  });
  expect(await database.tables()).toEqual([]);
});

test("a migration that fails leaves nothing behind", async () => {
  const database = await ledgerDatabase();
  await database.query("CREATE TABLE groupsync_runs (mine int)");
  await expect(database.ledger().prepare()).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringContaining("groupsync_runs"),
  });
  expect(await database.tables()).toEqual(["public.groupsync_runs"]);
});

test("two ledgers with prefixes of their own live side by side", async () => {
  const { url, tables } = await ledgerDatabase();
  for (const tablePrefix of ["one_", "two_"]) {
    await new SqlLedger(aDatabase(url), { tablePrefix }, "a").prepare();
  }
  expect(await tables()).toEqual(expect.arrayContaining(["public.one_groups", "public.two_groups"]));
});

test("a database that can't hold every id is refused", async () => {
  const url = await latin1Database();
  await expect(new SqlLedger(aDatabase(url), LOCATION, "a").prepare()).rejects.toMatchObject({
    code: "LEDGER_ENCODING",
    message: "the ledger's database is encoded in LATIN1",
    hint: expect.stringContaining("ledger.url"),
  });
});
