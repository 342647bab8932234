import { expect, inject, test } from "vitest";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { type SqlLedger, sqlLedger, sqlLedgerView } from "../../../../src/adapters/sql/ledger/ledger.ts";
import type { SyncError } from "../../../../src/core/failure/sync-error.ts";
import { leaseOf, prepared } from "../../../contracts/ledger/rig.ts";
import type { FreshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole, makerOf } from "../../../support/databases/role.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";

/** Opens an existing ledger of somebody else as a role that has these rights alone. */
async function openWith(rights: string, database: FreshDatabase): Promise<() => SqlLedger> {
  await sqlLedger(aDatabase(database.url), LOCATION, "a", HISTORY_MS).prepare();
  const { url, grant } = await aRole(database);
  await grant(rights);
  const location = { ...LOCATION, owners: [makerOf(database)] };
  return () => sqlLedger(aDatabase(url), location, "a", HISTORY_MS);
}

test("an existing ledger needs no right to create anything", async () => {
  const database = await ledgerDatabase();
  const open = await openWith("SELECT, INSERT, UPDATE, DELETE", database);
  const ledger = open();
  await ledger.prepare();
  await ledger.write(await leaseOf(ledger), (transaction) => transaction.startRun("sync", new Date()));
  expect(await ledger.history(new Date(0), 2)).toHaveLength(1);
});

// MySQL commits each table by itself. The version of all and the ledger's id come last, in one transaction.
test.runIf(inject("databaseKind") === "mysql")(
  "a process that died while it created the tables leaves the others to the next",
  async () => {
    const database = await ledgerDatabase();
    await prepared(database);
    const all = await database.tables();
    for (const table of ["migrations", "identity"]) await database.query(`DELETE FROM groupsync_${table}`);
    await database.query("DROP TABLE groupsync_runs");
    const ledger = await prepared(database);
    expect(await database.tables()).toEqual(all);
    expect((await ledger.scope()).ledgerId).not.toBeNull();
  },
);

/** A database that also notes each query. */
function noting(database: Database): { readonly database: Database; readonly queries: string[] } {
  const queries: string[] = [];
  const query: Database["query"] = (text, values) => {
    queries.push(text);
    return database.query(text, values);
  };
  return { database: Object.create(database, { query: { value: query } }), queries };
}

test("a ledger asks for its tables' version once, and the next ledger asks again", async () => {
  const { url, query } = await ledgerDatabase();
  await sqlLedger(aDatabase(url), LOCATION, "a", HISTORY_MS).prepare();
  const { database, queries } = noting(aDatabase(url));
  const view = sqlLedgerView(database, LOCATION, "a");
  await view.scope();
  await view.sums();
  expect(queries.filter((text) => text.includes("max(version)"))).toHaveLength(1);

  await query("DROP TABLE groupsync_migrations");
  expect((await sqlLedgerView(database, LOCATION, "a").scope()).ledgerId).toBeNull();
});

/** The error of a ledger that can't be created or written. */
const complaintOf = (doing: Promise<void>): Promise<SyncError> =>
  doing.then(
    () => expect.fail("it should complain"),
    (error) => error,
  );

test("without the right to create tables, `inspect` and `prepare` say which GRANT to run", async () => {
  const database = await ledgerDatabase();
  const { url } = await aRole(database);
  const open = (): SqlLedger => sqlLedger(aDatabase(url), LOCATION, "a", HISTORY_MS);
  // Before PostgreSQL 15 everybody may create tables in public.
  if (database.kind === "postgres") await database.query("REVOKE ALL ON SCHEMA public FROM public");
  const complaint = await complaintOf(open().inspect());
  expect(complaint).toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringMatching(/may not create/),
    hint: expect.stringMatching(/^GRANT .*CREATE.* ON .* TO .*gs_test_/),
  });
  const { message, hint = "" } = await complaintOf(open().prepare());
  expect({ message, hint }).toEqual({ message: complaint.message, hint: complaint.hint });
  expect(await database.tables()).toEqual([]);
  await database.query(hint);
  // MySQL looks at the rights to a database when a connection is made.
  await open().inspect();
  expect(await database.tables()).toEqual([]);
  await open().prepare();
});

test("without the right to write its tables, the ledger says which GRANT to run", async () => {
  const database = await ledgerDatabase();
  const open = await openWith("SELECT", database);
  const { code, message, hint = "" } = await complaintOf(open().inspect());
  expect(code).toBe("LEDGER_UNAVAILABLE");
  expect(message).toMatch(/may not write to the ledger's table/);
  expect(hint).toMatch(/^GRANT SELECT, INSERT, UPDATE, DELETE/);
  await database.query(hint);
  await open().inspect();
});

test("two ledgers with different prefixes live side by side", async () => {
  const { url, tables } = await ledgerDatabase();
  for (const tablePrefix of ["one_", "two_"]) {
    await sqlLedger(aDatabase(url), { tablePrefix }, "a", HISTORY_MS).prepare();
  }
  const names = (await tables()).map((name) => name.replace("public.", ""));
  expect(names).toEqual(expect.arrayContaining(["one_groups", "two_groups"]));
});
