import { expect, onTestFinished, test } from "vitest";
import { type FreshDatabase, type Query, SERVERS } from "../../support/databases/fresh-database.ts";
import { startPostgres } from "../../support/postgres/embedded-postgres.ts";
import { startStandby } from "../../support/postgres/standby.ts";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

const TENANTS = 40;
const LATENCY = { min: 5, max: 15 };
/** Groups whose tenants are gone are deleted at once. */
const AT_ONCE: ConfigChanges = { deletion: { grace_period: "0", limit: { count: 100, percent: 100 } } };

interface Failover {
  readonly world: World;
  /** From now on the replica gets nothing of what the primary commits. */
  lag(): void;
  /** The primary dies, and the replica takes its place. */
  failOver(): Promise<void>;
}

/** A world on a primary and an asynchronous replica, behind one address. */
async function aReplicatedWorld(): Promise<Failover> {
  const primary = await startPostgres();
  onTestFinished(() => primary.stop());
  const link = await tcpProxy(primary.url);
  const replica = await startStandby(primary, "replica", { from: link.url });
  onTestFinished(() => replica.stop());
  const address = await tcpProxy(primary.url);
  const ask: Query = async (text, values) => {
    const { query, end } = SERVERS.postgres.connect(address.url);
    return query<never>(text, values).finally(end);
  };
  const database: FreshDatabase = { kind: "postgres", name: "postgres", url: address.url, query: ask };
  const world = await aWorld({ database, tenants: TENANTS, service: { latency: LATENCY }, config: AT_ONCE });
  expect(await world.sync()).toMatchObject({ code: 0 });
  const at = SERVERS.postgres.connect(replica.url);
  onTestFinished(() => at.end());
  const isFinished = "SELECT 1 FROM groupsync_runs WHERE finished_at IS NOT NULL";
  await expect.poll(() => at.query(isFinished).catch(() => []), { timeout: 20_000 }).toHaveLength(1);
  await world.forgetRequests();
  return {
    world,
    lag: () => link.limit(0),
    async failOver() {
      await primary.stop();
      await at.query("SELECT pg_promote()");
      address.redirect(replica.url);
    },
  };
}

const untilRequests = (world: World, count: number): Promise<void> =>
  expect
    .poll(async () => (await world.requests()).total, { interval: 5, timeout: 30_000 })
    .toBeGreaterThan(count);

/** The next sync ends well, and every token that is stored is live. */
async function expectHealed(world: World): Promise<void> {
  const { code, report, stderr } = await world.sync();
  expect({ code, report, stderr }).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0 } });
  expect(await world.stored()).toEqual(await world.live());
  await world.forgetRequests();
  expect(await world.sync()).toMatchObject({ code: 0, report: { requests: 0 } });
}

test("a rotation whose commits the replica never had says which groups are in doubt, and the next sync stores their live tokens", async () => {
  const { world, lag, failOver } = await aReplicatedWorld();
  lag();
  const rotation = world.start("rotate", "--all", "--yes", "--json");
  await untilRequests(world, TENANTS / 2);
  await failOver();
  const { code, stdout, stderr } = await rotation.ended;
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/LEDGER_REWOUND|went back in time/),
  });
  expect(stdout).toContain('"LEDGER_REWOUND"');
  await expectHealed(world);
});

test("groups that were made, and that the replica never heard of, are known again: they are deleted with their tenants", async () => {
  const { world, lag, failOver } = await aReplicatedWorld();
  lag();
  // The replica lacks these rows too.
  await world.addTenants(TENANTS + 1, 2 * TENANTS);
  const sync = world.start("sync", "--json");
  await untilRequests(world, TENANTS / 2);
  await failOver();
  expect(await sync.ended).toMatchObject({ code: 1, stdout: expect.stringContaining('"LEDGER_REWOUND"') });
  await expectHealed(world);
  expect(await world.groups()).toHaveLength(TENANTS);
});

test("a process that died with its primary: the next one sees the failover, and asks for all groups", async () => {
  const { world, lag, failOver } = await aReplicatedWorld();
  lag();
  await world.rotate("--all", "--yes");
  await failOver();
  const { code, report, stderr } = await world.sync();
  expect({ code, report }).toMatchObject({
    code: 0,
    report: { requests: TENANTS, drift: { token: TENANTS } },
  });
  expect(stderr).toContain("LEDGER_REWOUND");
  expect(await world.stored()).toEqual(await world.live());
});
