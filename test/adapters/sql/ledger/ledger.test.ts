import { expect, onTestFinished, test } from "vitest";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import type { Change } from "../../../../src/core/plan/change.ts";
import type { EventOf } from "../../../../src/core/record/next.ts";
import { RecentWrites } from "../../../../src/core/record/recent-writes.ts";
import { aGroup, anApplied, anApply } from "../../../builders/groups.ts";
import { begun, ended } from "../../../builders/records.ts";
import { collect } from "../../../contracts/collect.ts";
import { begin, NOW, type Opened, opened, write } from "../../../contracts/ledger/rig.ts";
import { ledgerDatabaseContract } from "../../../contracts/ledger.ts";
import { type DatabaseKind, SERVERS } from "../../../support/databases/fresh-database.ts";
import { startMariadb } from "../../../support/mysql/embedded-mariadb.ts";
import { startPostgres } from "../../../support/postgres/embedded-postgres.ts";
import { startStandby } from "../../../support/postgres/standby.ts";
import { OWN } from "../tokens/token-place.ts";
import { aDatabase, HISTORY_MS, LOCATION, ledgerDatabase } from "./ledger-database.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

ledgerDatabaseContract("in a database", () => ledgerDatabase(), preparedLedgerDatabase);

test("groups that are too large for one statement are recorded in one write", async () => {
  const at = await opened(preparedLedgerDatabase);
  // In a statement, each quote in a property takes eight characters; MariaDB takes 16 MB of them.
  const changes = Array.from({ length: 10 }, (_, n) => {
    const user_group_id = `t${n}`;
    return anApply({
      user_group_id,
      group: aGroup({ user_group_id, properties: { p: '"'.repeat(400_000) } }),
    });
  });
  await begin(at, ...changes);
  const outcomes = changes.map((change) => ended(anApplied({ change })));
  await write(at, (transaction) => transaction.change(outcomes, NOW));

  const ids = changes.map((change) => change.user_group_id);
  const records = await at.ledger.records(ids);
  expect(ids.map((id) => records.get(id)?.confirmed)).toEqual(changes.map(({ group }) => group));
});

test("more groups than are changed at once are all changed", async () => {
  const at = await opened(preparedLedgerDatabase);
  await begin(at, ...Array.from({ length: 1_001 }, (_, n) => anApply({ user_group_id: `t${n}` })));
  const clock = { ms: 0, reads: 0 };
  await write(at, (to) => to.changeAll({ kind: "left", absence: "absent", clock }, NOW));
  expect((await at.ledger.sums()).missing).toMatchObject([{ groups: 1_001 }]);
});

test("a write whose commit fails is not taken for committed", async () => {
  const { database, lease } = await opened(preparedLedgerDatabase);
  const cut = aDatabase(database.url, database.kind);
  const transaction: typeof cut.transaction = cut.transaction.bind(cut);
  cut.transaction = async (...given) => {
    await transaction(...given);
    throw new Error("cut");
  };
  const recent = new RecentWrites(NOW);
  const ledger = sqlLedger(cut, LOCATION, "default", HISTORY_MS, recent);
  await expect(ledger.write(lease, async () => {})).rejects.toThrow("cut");
  expect(recent.writes).toBe(0);
});

test.each([
  ["an absence", "the call's end"],
  ["the call's end", "an absence"],
] as const)(
  "of two writes to one group at once, %s and %s, the second one builds on the first one",
  async (...order) => {
    const change = anApply({ user_group_id: "acme" });
    const events = {
      "an absence": { kind: "left", user_group_id: "acme", absence: "unseen", clock: { ms: 0, reads: 0 } },
      "the call's end": ended(anApplied({ change })),
    } as const satisfies Record<string, EventOf>;
    const [first, second] = order.map((name) => events[name]) as [EventOf, EventOf];
    const told = async ({ ledger }: Opened) => [await ledger.records(["acme"]), await ledger.sums()];

    const at = await opened(preparedLedgerDatabase);
    await begin(at, change);
    const { done } = await write(at, async (transaction) => {
      await transaction.change([first], NOW);
      const done = write(at, (later) => later.change([second], NOW));
      await at.database.untilBlocked();
      return { done };
    });
    await done;

    const other = await opened(preparedLedgerDatabase);
    await begin(other, change);
    await write(other, (transaction) => transaction.change([first, second], NOW));
    expect(await told(at)).toEqual(await told(other));
  },
);

/** What has the server give up the ledger's transaction, and not the other one. */
const STUBBORN: Readonly<Record<DatabaseKind, readonly string[]>> = {
  // Whoever has waited for so long looks for a deadlock, and gives up its own transaction.
  postgres: ["SET deadlock_timeout = '1min'", "BEGIN"],
  // The one that has changed fewer rows is given up.
  mysql: ["START TRANSACTION", "INSERT INTO heavy SELECT 1 FROM groupsync_groups"],
};

const hold = (user_group_id: string): EventOf => ({ kind: "held", user_group_id, removal: "delete" });

test("a write that the database rolls back because of a deadlock is repeated", async () => {
  const at = await opened(preparedLedgerDatabase);
  const { kind, url, query, untilBlocked } = at.database;
  const change = (id: string): Change => anApply({ user_group_id: id });
  await at.ledger.write(at.lease, (transaction) =>
    transaction.change(
      ["a", "b", ...Array.from({ length: 50 }, (_, n) => `c${n}`)].map((one) => begun(change(one))),
      NOW,
    ),
  );
  await query("CREATE TABLE heavy (n int)");
  const other = SERVERS[kind].connect(url);
  onTestFinished(() => other.end());
  for (const statement of STUBBORN[kind]) await other.query(statement);
  const touch = (id: string) =>
    other.query(
      "UPDATE groupsync_groups SET held = 'touched' WHERE scope = 'default' AND user_group_id = $1",
      [id],
    );

  let attempts = 0;
  await touch("b");
  await at.ledger.write(at.lease, async (transaction) => {
    attempts++;
    await transaction.change([hold("a")], NOW);
    if (attempts === 1) {
      const blocked = touch("a").then(() => other.query("COMMIT"));
      onTestFinished(async () => void (await blocked));
      await untilBlocked();
    }
    await transaction.change([hold("b")], NOW);
  });
  expect(attempts).toBe(2);
  expect((await collect(at.ledger.groups())).flat()).toHaveLength(52);
});

/** The url of a server that takes no writes. */
const READ_ONLY: Readonly<Record<DatabaseKind, () => Promise<string>>> = {
  postgres: async () => {
    const primary = await startPostgres();
    onTestFinished(primary.stop);
    const standby = await startStandby(primary, "replica");
    onTestFinished(standby.stop);
    return standby.url;
  },
  mysql: async () => {
    const server = await startMariadb({ settings: { read_only: "1" } });
    onTestFinished(server.stop);
    const { query, end } = SERVERS.mysql.connect(server.url);
    onTestFinished(end);
    await query("CREATE DATABASE replica; CREATE USER us IDENTIFIED BY 'x'; GRANT ALL ON replica.* TO us");
    return Object.assign(new URL(server.url), { username: "us", password: "x", pathname: "/replica" }).href;
  },
};

test.each(["postgres", "mysql"] as const)("a check tells that a server takes no writes: %s", async (kind) => {
  const url = await READ_ONLY[kind]().catch((error: unknown) => {
    if (process.env.CI === "true") throw error;
    console.error(`skipped: there is no ${kind} server that takes no writes: ${error}`);
  });
  if (url === undefined) return;
  const database = aDatabase(url, kind);
  const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
  const hint = expect.stringMatching(/replica|standby/);
  await expect(ledger.inspect()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE", hint });
  await expect(new SqlTokenTable(database, OWN).inspect()).rejects.toMatchObject({
    code: "TOKEN_STORE_UNAVAILABLE",
    hint,
  });
});
