import { expect, test } from "vitest";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import { aRole } from "../../support/role.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";

test("a ledger that is there needs no right to create anything", async () => {
  const database = await ledgerDatabase();
  await new SqlLedger(aDatabase(database.url), LOCATION, "a", HISTORY_MS).prepare();
  const { url, grant } = await aRole(database);
  await grant("SELECT, INSERT, UPDATE, DELETE");
  const ledger = new SqlLedger(aDatabase(url), LOCATION, "a", HISTORY_MS);
  await ledger.prepare();
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind === "held") throw new Error("the lease should be free");
  await ledger.write(attempt.lease, (transaction) => transaction.startRun("sync", new Date()));
  expect((await ledger.status()).runs).toHaveLength(1);
});

test("without the right to create tables it says so", async () => {
  const database = await ledgerDatabase();
  const { url } = await aRole(database);
  await expect(new SqlLedger(aDatabase(url), LOCATION, "a", HISTORY_MS).prepare()).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringContaining("denied"),
    hint: expect.stringContaining("grant"),
  });
  expect(await database.tables()).toEqual([]);
});

test("two ledgers with prefixes of their own live side by side", async () => {
  const { url, tables } = await ledgerDatabase();
  for (const tablePrefix of ["one_", "two_"]) {
    await new SqlLedger(aDatabase(url), { tablePrefix }, "a", HISTORY_MS).prepare();
  }
  const names = (await tables()).map((name) => name.replace("public.", ""));
  expect(names).toEqual(expect.arrayContaining(["one_groups", "two_groups"]));
});
