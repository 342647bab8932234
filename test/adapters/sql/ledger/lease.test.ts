import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { type SqlLedger, sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import type { Lease } from "../../../../src/ports/ledger/lease.ts";
import type { Ledger } from "../../../../src/ports/ledger/ledger.ts";
import { anApply } from "../../../builders/groups.ts";
import { begun } from "../../../builders/records.ts";
import { collect } from "../../../contracts/collect.ts";
import { leaseOf, NOW, opened, prepared, take } from "../../../contracts/ledger/rig.ts";
import type { FreshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { holdLocks } from "../../../support/databases/table-lock.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

const kind = inject("databaseKind");
const IDLE_MS = 2_000;

const aLedger = (database: Database, scope = "default"): SqlLedger =>
  sqlLedger(database, LOCATION, scope, HISTORY_MS);

async function acquired(ledger: Ledger, holder: string, ttlMs: number): Promise<Lease> {
  const attempt = await ledger.acquireLease(holder, ttlMs);
  if (attempt.kind !== "acquired") throw new Error("the lease should be free");
  return attempt.lease;
}

/** Does so in a transaction, and then nothing more until the test is over. Resolves once it has. */
async function standStill<T>(transact: (body: () => Promise<void>) => Promise<T>): Promise<void> {
  await new Promise<void>((stands, failed) => {
    const standing = transact(async () => {
      stands();
      await new Promise<void>((goOn) => onTestFinished(() => goOn()));
    });
    standing.catch(failed);
    onTestFinished(() => standing.then(ignore, ignore));
  });
}

/** A ledger whose lease a holder keeps locked: it moves, and waits for something else. */
async function aLockedLease(ttlMs: number): Promise<SqlLedger> {
  const { url } = await preparedLedgerDatabase();
  const ledger = aLedger(aDatabase(url));
  await ledger.prepare();
  const lease = await acquired(ledger, "stopped", ttlMs);
  await standStill((body) => ledger.write(lease, body));
  return ledger;
}

test.each([
  ["before it has expired", 60_000],
  ["when it has expired", 0],
])("a lease whose holder waits in a transaction is held, %s", async (_, ttlMs) => {
  const ledger = await aLockedLease(ttlMs);
  expect(await ledger.acquireLease("another", 60_000)).toMatchObject({
    kind: "held",
    by: { holder: "stopped", epoch: expect.any(String) },
  });
});

test("a lease whose holder waits in a transaction can't be seized before the transaction has ended", async () => {
  const ledger = await aLockedLease(60_000);
  const attempt = await ledger.acquireLease("another", 60_000);
  if (attempt.kind !== "held") throw new Error("the lease should be held");
  expect(await ledger.acquireLease("another", 60_000, { dead: attempt.by })).toMatchObject({
    kind: "held",
    locked: expect.stringMatching(/held by session \d+/),
  });
});

const NEW_LEASE = `INSERT INTO groupsync_leases (scope, epoch, holder, acquired_at, expires_at)
  VALUES ('default', 1, 'somebody', '2026-01-01', '2026-01-01')`;

test.each<[what: string, isThere: boolean, statement: string]>([
  ["keeps", true, "SELECT epoch FROM groupsync_leases FOR UPDATE"],
  ["makes", false, NEW_LEASE],
])(
  "the session is named that %s the lease's row, and lets nobody else have it",
  async (_, isThere, statement) => {
    const fresh = await preparedLedgerDatabase();
    const ledger = fresh.ledger();
    await ledger.prepare();
    if (isThere) await acquired(ledger, "somebody", 0);
    const { session } = await holdLocks(fresh, ["START TRANSACTION", statement]);
    const locked = expect.stringMatching(new RegExp(`lock.*; held by session ${session}\\b`, "i"));
    const attempt = ledger.acquireLease("me", 60_000);
    if (isThere) expect(await attempt).toMatchObject({ kind: "held", by: { holder: "somebody" }, locked });
    else
      expect(await attempt).toMatchObject({
        kind: "locked",
        error: { code: "LEDGER_UNAVAILABLE", message: locked },
      });
  },
);

test.each<[doing: string, transact: (database: Database, body: () => Promise<void>) => Promise<unknown>]>([
  [
    "writes",
    async (database, body) => {
      const ledger = aLedger(database);
      return ledger.write(await acquired(ledger, "stopped", 0), body);
    },
  ],
  [
    "takes the lease",
    async (database, body) => {
      await acquired(aLedger(database), "stopped", 0);
      return database.transaction(database.dialect.begin.lease, async (connection) => {
        const leases = kind === "postgres" ? "public.groupsync_leases" : "groupsync_leases";
        await connection.query(`SELECT epoch FROM ${leases} WHERE scope = 'default' FOR UPDATE`);
        await body();
      });
    },
  ],
])(
  "the database soon ends the transaction of a holder that stands still while it %s",
  async (_, transact) => {
    const { url, ledger } = await preparedLedgerDatabase();
    await ledger().prepare();
    const line = await tcpProxy(url);
    const stopped = aDatabase(line.url, kind, { idleMs: IDLE_MS });
    await standStill((body) => transact(stopped, body));
    line.swallow(true);
    const taken = () => ledger().acquireLease("another", 60_000);
    await expect.poll(taken, { timeout: 30_000 }).toMatchObject({ kind: "acquired" });
    line.swallow(false);
  },
);

function ignore(): void {}

test("an instance that held the lease before an older ledger was restored can't write beside the next holder", async () => {
  const database = await ledgerDatabase();
  const ledger = await prepared(database);
  const yesterday = await leaseOf(ledger, "yesterday");
  await ledger.releaseLease(yesterday);
  const former = await leaseOf(ledger, "from before the restore");

  await database.query("UPDATE groupsync_leases SET epoch = $1, holder = '', expires_at = acquired_at", [
    yesterday.epoch,
  ]);
  // Two moments differ by a millisecond at least.
  await sleep(5);
  const next = await leaseOf(ledger, "after the restore");
  const write = (lease: typeof next) =>
    ledger.write(lease, (transaction) => transaction.recordScope({ tokens: { verifiedAt: NOW } }));
  await expect(write(former)).rejects.toMatchObject({ code: "LEASE_LOST" });
  expect(await ledger.renewLease(former, 1_000)).toMatchObject({ code: "LEASE_LOST" });
  await write(next);
});

describe("the fence", () => {
  const writesTo = (database: FreshDatabase, set: string): Promise<unknown> =>
    database.query(`UPDATE groupsync_leases SET ${set}`);

  test.each<[happens: string, set: string, code: string]>([
    [
      "a holder that began after all writes of this one",
      "epoch = epoch + 1, writes_before = writes",
      "LEASE_LOST",
    ],
    ["a holder that began before them", "epoch = epoch + 1, writes_before = writes - 1", "LEDGER_REWOUND"],
    ["an earlier lease", "epoch = epoch - 1", "LEDGER_REWOUND"],
    ["fewer writes", "writes = writes - 1", "LEDGER_REWOUND"],
    ["no lease at all", "scope = 'another'", "LEDGER_REWOUND"],
  ])("refuses a write and a renewal if the ledger has %s", async (_, set, code) => {
    const database = await preparedLedgerDatabase();
    const at = await opened(async () => database);
    await take(at, [begun(anApply())]);
    await writesTo(database, set);
    await expect(take(at, [begun(anApply({ user_group_id: "b" }))])).rejects.toMatchObject({ code });
    expect(await at.ledger.renewLease(at.lease, 60_000)).toMatchObject({ code });
    expect(await collect(at.ledger.groups())).toHaveLength(1);
  });

  test("lets writes of one holder go side by side, and counts each", async () => {
    const database = await preparedLedgerDatabase();
    const at = await opened(async () => database);
    const ids = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(ids.map((user_group_id) => take(at, [begun(anApply({ user_group_id }))])));
    expect(await collect(at.ledger.groups())).toHaveLength(ids.length);
    const [row] = await database.query<{ writes: unknown }>("SELECT writes FROM groupsync_leases");
    expect(Number(row?.writes)).toBe(ids.length);
  });

  test("tells the server of the last write: the same as long as nothing fails over", async () => {
    const database = await preparedLedgerDatabase();
    const one = aDatabase(database.url, kind);
    const identity = await one.dialect.serverIdentity(one);
    expect(await one.dialect.serverIdentity(aDatabase(database.url, kind))).toBe(identity);
    const at = await opened(async () => database);
    await take(at, [begun(anApply())]);
    const [row] = await database.query<{ server: unknown }>("SELECT server FROM groupsync_leases");
    expect(row?.server).toBe(identity);
    if (kind === "postgres") expect(identity).toMatch(/^\d+ [0-9A-F]{8}$/);
  });

  test("knows the server by any role, unless that right was revoked", async () => {
    const database = await preparedLedgerDatabase();
    const { url } = await aRole(database);
    const one = aDatabase(url, kind);
    expect(await one.dialect.serverIdentity(one)).toMatch(/ [0-9A-F]+$/);
    if (kind !== "postgres") return;
    await database.query("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public");
    expect(await one.dialect.serverIdentity(one)).toBeNull();
  });
});
