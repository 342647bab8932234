import { expect, test } from "vitest";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import type { SyncError } from "../../../src/core/errors.ts";
import type { FreshDatabase } from "../../support/fresh-database.ts";
import { aRole, makerOf } from "../../support/role.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";

/** As a role with these rights to a ledger that is there and somebody else's, and with no others. */
async function openWith(rights: string, database: FreshDatabase): Promise<() => SqlLedger> {
  await new SqlLedger(aDatabase(database.url), LOCATION, "a", HISTORY_MS).prepare();
  const { url, grant } = await aRole(database);
  await grant(rights);
  const location = { ...LOCATION, owners: [makerOf(database)] };
  return () => new SqlLedger(aDatabase(url), location, "a", HISTORY_MS);
}

test("a ledger that is there needs no right to create anything", async () => {
  const database = await ledgerDatabase();
  const open = await openWith("SELECT, INSERT, UPDATE, DELETE", database);
  const ledger = open();
  await ledger.prepare();
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind !== "acquired") throw new Error("the lease should be free");
  await ledger.write(attempt.lease, (transaction) => transaction.startRun("sync", new Date()));
  expect((await ledger.status()).runs).toHaveLength(1);
});

/** What a ledger says that can't be made or written, by a sync and by who only looks. */
const complaintOf = (doing: Promise<void>): Promise<SyncError> =>
  doing.then(
    () => expect.fail("it should complain"),
    (error) => error,
  );

test("without the right to create tables it says which GRANT to run, before and while it does", async () => {
  const database = await ledgerDatabase();
  const { url } = await aRole(database);
  const open = (): SqlLedger => new SqlLedger(aDatabase(url), LOCATION, "a", HISTORY_MS);
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

test("without the right to write its tables it says which GRANT to run", async () => {
  const database = await ledgerDatabase();
  const open = await openWith("SELECT", database);
  const { code, message, hint = "" } = await complaintOf(open().inspect());
  expect(code).toBe("LEDGER_UNAVAILABLE");
  expect(message).toMatch(/may not write to the ledger's table/);
  expect(hint).toMatch(/^GRANT SELECT, INSERT, UPDATE, DELETE/);
  await database.query(hint);
  await open().inspect();
});

test("two ledgers with prefixes of their own live side by side", async () => {
  const { url, tables } = await ledgerDatabase();
  for (const tablePrefix of ["one_", "two_"]) {
    await new SqlLedger(aDatabase(url), { tablePrefix }, "a", HISTORY_MS).prepare();
  }
  const names = (await tables()).map((name) => name.replace("public.", ""));
  expect(names).toEqual(expect.arrayContaining(["one_groups", "two_groups"]));
});
