import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { MIGRATION, type SessionTimeouts } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import { type SqlLedger, sqlLedger, sqlLedgerView } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { collect } from "../../../contracts/collect.ts";
import { lockTable, untilWaiting } from "../../../support/databases/table-lock.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { endWithSilentHost } from "../connection/silent-host.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "./ledger-database.ts";
import { preparedDatabase } from "./prepared-database.ts";

const kind = inject("databaseKind");
const SHORT_LOCKS: SessionTimeouts = { lockMs: 4_000, silenceMs: 600_000 };

test("a view soon gives up if somebody keeps the lease locked, and the message names the session", async () => {
  const fresh = await preparedDatabase();
  const { session } = await lockTable(fresh, "groupsync_leases");
  const database = aDatabase(fresh.url, kind, { timeouts: SHORT_LOCKS });
  await expect(sqlLedgerView(database, LOCATION, "default").scope()).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringMatching(new RegExp(`lock.*\\bsession ${session}\\b`)),
    hint: expect.stringContaining("end its work"),
  });
  await untilWaiting(fresh, 0);
});

test("a statement of a migration waits for a lock no longer than any other", async () => {
  const fresh = await preparedDatabase();
  const { session } = await lockTable(fresh, "groupsync_runs");
  const database = aDatabase(fresh.url, kind, { timeouts: SHORT_LOCKS });
  const runs = kind === "postgres" ? "public.groupsync_runs" : "groupsync_runs";
  const migrating = database.transaction(
    database.dialect.begin.write,
    (connection) => connection.query(`ALTER TABLE ${runs} ADD more int`),
    MIGRATION,
  );
  await expect(migrating).rejects.toThrow(new RegExp(`lock.*\\bsession ${session}\\b`, "is"));
  await untilWaiting(fresh, 0);
});

test.each<[what: string, table: string, act: (ledger: SqlLedger) => Promise<unknown>]>([
  ["the first read", "groupsync_migrations", (ledger) => ledger.prepare()],
  ["the lease", "groupsync_leases", (ledger) => ledger.acquireLease("me", 60_000)],
  ["the groups", "groupsync_groups", (ledger) => collect(ledger.groups())],
  ["the sums", "groupsync_groups", (ledger) => ledger.sums()],
])(
  "whoever is told to stop while %s is locked doesn't wait, and leaves nothing behind that does",
  async (_, table, act) => {
    const fresh = await preparedDatabase();
    await lockTable(fresh, table);
    const stop = new AbortController();
    const database = aDatabase(fresh.url, kind, { stop: stop.signal });
    const acting = act(sqlLedger(database, LOCATION, "default", HISTORY_MS));
    const rejected = expect(acting).rejects.toMatchObject({ code: "INTERRUPTED" });
    await untilWaiting(fresh, 1);
    stop.abort();
    await rejected;
    await untilWaiting(fresh, 0);
  },
);

test("a process that was told to stop still records outcomes", async () => {
  const { url } = await preparedDatabase();
  const stop = new AbortController();
  const ledger = sqlLedger(aDatabase(url, kind, { stop: stop.signal }), LOCATION, "default", HISTORY_MS);
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind !== "acquired") throw new Error("the lease should be free");
  stop.abort();
  await ledger.write(attempt.lease, (transaction) => transaction.startRun("sync", new Date()));
  expect(await ledger.renewLease(attempt.lease, 60_000)).toBeUndefined();
  await ledger.releaseLease(attempt.lease);
  // A short read is still answered: to record a token, the ledger is asked whose it is.
  expect(await ledger.history(new Date(0), 1)).toMatchObject([{ command: "sync" }]);
});

test("a database closes at once, even while statements run", async () => {
  const fresh = await preparedDatabase();
  await lockTable(fresh, "groupsync_runs");
  const database = aDatabase(fresh.url);
  const runs = kind === "postgres" ? "public.groupsync_runs" : "groupsync_runs";
  const asked = database.change(`DELETE FROM ${runs}`).catch(() => "ended");
  await untilWaiting(fresh, 1);
  // A connection that nobody uses may take five seconds to say goodbye.
  const closed = database.close().then(() => "closed");
  expect(await Promise.race([closed, sleep(4_000, "still open", { ref: false })])).toBe("closed");
  await untilWaiting(fresh, 0);
  // MySQL's driver says nothing to who waits for a connection that it was told to end.
  if (kind === "postgres") expect(await asked).toBe("ended");
});

test("the read of the groups ends if the database falls silent", async () => {
  const fresh = await preparedDatabase();
  const line = await tcpProxy(fresh.url);
  const database = aDatabase(line.url, kind, { timeouts: { ...SHORT_LOCKS, silenceMs: 4_000 } });
  await database.query("SELECT 1");
  const groups = collect(sqlLedgerView(database, LOCATION, "default").groups());
  line.swallow(true);
  await expect(groups).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringContaining("has not answered for 4 s"),
  });
});

test("a read of the groups doesn't begin on a connection whose host has gone, and ends after a minute", async () => {
  const fresh = await preparedDatabase();
  const line = await tcpProxy(fresh.url);
  const view = sqlLedgerView(aDatabase(line.url), LOCATION, "default");
  await collect(view.groups());
  const ended = await endWithSilentHost(line, () => collect(view.groups()));
  expect(ended).toMatchObject({ message: expect.stringContaining("has not answered for 60 s") });
});
