import { expect, test } from "vitest";
import { sqlLedger, sqlLedgerView } from "../../../src/adapters/sql/ledger/ledger.ts";
import { collect } from "../../contracts/collect.ts";
import { aRole } from "../../support/databases/role.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "../sql/ledger/ledger-database.ts";
import { encodedDatabase } from "./encoded-database.ts";

const OPS = { schema: "Ops Team", tablePrefix: "Sync_" };

test("the ledger makes its schema where there is none", async () => {
  const { url, tables } = await ledgerDatabase();
  const ledgers = ["a", "b", "c"].map((scope) => sqlLedger(aDatabase(url), OPS, scope, HISTORY_MS));
  await Promise.all(ledgers.map((ledger) => ledger.prepare()));
  expect(await tables()).toContain('"Ops Team"."Sync_groups"');
  expect(await collect(sqlLedgerView(aDatabase(url), OPS, "a").groups())).toEqual([]);
});

test("a schema that exists is enough: no right to create another one is needed", async () => {
  const database = await ledgerDatabase();
  await database.query('CREATE SCHEMA "Ops Team"');
  const { name, url } = await aRole(database);
  await database.query(`GRANT USAGE, CREATE ON SCHEMA "Ops Team" TO ${name}`);
  await sqlLedger(aDatabase(url), OPS, "a", HISTORY_MS).prepare();
  expect(await database.tables()).toContain('"Ops Team"."Sync_groups"');
});

test("a schema that is missing, and can't be made, is said to be missing", async () => {
  const database = await ledgerDatabase();
  const { name, url } = await aRole(database);
  const ledger = sqlLedger(aDatabase(url), OPS, "a", HISTORY_MS);
  const missing = {
    code: "LEDGER_UNAVAILABLE",
    message: "cannot create the ledger's tables: there is no schema Ops Team",
    hint: expect.stringContaining(`CREATE SCHEMA "Ops Team" AUTHORIZATION "${name}"`),
  };
  await expect(ledger.inspect()).rejects.toMatchObject(missing);
  await expect(ledger.prepare()).rejects.toMatchObject(missing);
  // Whoever may make it has nothing to complain of.
  await sqlLedger(aDatabase(database.url), OPS, "a", HISTORY_MS).inspect();
  await database.query(`CREATE SCHEMA "Ops Team" AUTHORIZATION "${name}"`);
  await ledger.prepare();
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

test("a database that can't hold every id is refused", async () => {
  const url = await encodedDatabase("LATIN1");
  await expect(sqlLedger(aDatabase(url), LOCATION, "a", HISTORY_MS).prepare()).rejects.toMatchObject({
    code: "LEDGER_ENCODING",
    message: "the ledger's database is encoded in LATIN1",
    hint: expect.stringContaining("ledger.url"),
  });
});
