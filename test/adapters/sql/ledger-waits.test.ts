import { expect, inject, test } from "vitest";
import type { Patience } from "../../../src/adapters/sql/attendance.ts";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import { SqlLedgerView } from "../../../src/adapters/sql/ledger-view.ts";
import { collect } from "../../contracts/collect.ts";
import type { FreshDatabase } from "../../support/fresh-database.ts";
import { lockTable, untilWaiting } from "../../support/table-lock.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";

const kind = inject("databaseKind");
const NO_PATIENCE: Patience = { silenceMs: 200, lookMs: 20_000, lockMs: 1_000 };

async function aLedger(): Promise<FreshDatabase> {
  const fresh = await ledgerDatabase();
  await fresh.ledger().prepare();
  return fresh;
}

test("a ledger whose lease somebody keeps locked is soon given up by who only looks, and the message names who does", async () => {
  const fresh = await aLedger();
  const { session } = await lockTable(fresh, "groupsync_leases");
  const database = aDatabase(fresh.url, kind, { patience: NO_PATIENCE });
  await expect(new SqlLedgerView(database, LOCATION, "default").status()).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringMatching(new RegExp(`lock.*\\bsession ${session}\\b`)),
    hint: expect.stringContaining("end its work"),
  });
  await untilWaiting(fresh, 0);
});

test.each<[what: string, table: string, act: (ledger: SqlLedger) => Promise<unknown>]>([
  ["the first read", "groupsync_migrations", (ledger) => ledger.prepare()],
  ["the lease", "groupsync_leases", (ledger) => ledger.acquireLease("me", 60_000)],
  ["the groups", "groupsync_groups", (ledger) => collect(ledger.groups())],
  ["what only looks", "groupsync_groups", (ledger) => ledger.status()],
])(
  "whoever is told to stop while %s is locked doesn't wait, and leaves nothing behind that does",
  async (_, table, act) => {
    const fresh = await aLedger();
    await lockTable(fresh, table);
    const stop = new AbortController();
    const database = aDatabase(fresh.url, kind, { stop: stop.signal });
    const acting = act(new SqlLedger(database, LOCATION, "default", HISTORY_MS));
    const rejected = expect(acting).rejects.toMatchObject({ code: "INTERRUPTED" });
    await untilWaiting(fresh, 1);
    stop.abort();
    await rejected;
    await untilWaiting(fresh, 0);
  },
);

test("what is to be recorded is recorded also by who was told to stop", async () => {
  const { url } = await aLedger();
  const stop = new AbortController();
  const ledger = new SqlLedger(aDatabase(url, kind, { stop: stop.signal }), LOCATION, "default", HISTORY_MS);
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind !== "acquired") throw new Error("the lease should be free");
  stop.abort();
  await ledger.write(attempt.lease, (transaction) => transaction.startRun("sync", new Date()));
  expect(await ledger.renewLease(attempt.lease, 60_000)).toBe(true);
  await ledger.releaseLease(attempt.lease);
  // A short read is still answered: to record a token, the ledger is asked whose it is.
  expect(await ledger.history(new Date(0), 1)).toMatchObject([{ command: "sync" }]);
});

test("a database is closed at once, whatever it is still asked", async () => {
  const fresh = await aLedger();
  await lockTable(fresh, "groupsync_runs");
  const database = aDatabase(fresh.url);
  const runs = kind === "postgres" ? "public.groupsync_runs" : "groupsync_runs";
  const asked = database.change(`DELETE FROM ${runs}`).catch(() => "ended");
  await untilWaiting(fresh, 1);
  await database.close();
  await untilWaiting(fresh, 0);
  // MySQL's driver says nothing to who waits for a connection that it was told to end.
  if (kind === "postgres") expect(await asked).toBe("ended");
});

test("a database that falls silent in the middle of the groups ends the read of them", async () => {
  const fresh = await aLedger();
  const line = await tcpProxy(fresh.url);
  const database = aDatabase(line.url, kind, { patience: { ...NO_PATIENCE, lookMs: 500 } });
  await database.query("SELECT 1");
  const groups = collect(new SqlLedgerView(database, LOCATION, "default").groups());
  line.swallow(true);
  await expect(groups).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringMatching(/silent|answer/),
  });
});
