import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { LONG, someOf } from "../../support/long.ts";
import * as mariadb from "../../support/mysql/replica.ts";
import { startPostgres } from "../../support/postgres/embedded-postgres.ts";
import { startStandby } from "../../support/postgres/standby.ts";
import type { EmbeddedServer } from "../../support/servers/embedded-server.ts";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld, type ConfigChanges, until, type World } from "../world.ts";
import { ARGS, AT_ONCE, asking, expectHealed, untilRequests } from "./lost-commits.ts";

const TENANTS = 40;
const LATENCY = { min: 5, max: 15 };

interface Servers {
  start(): Promise<EmbeddedServer>;
  /** Starts a replica that reaches the primary by way of `from`. */
  follow(primary: EmbeddedServer, from: string): Promise<EmbeddedServer>;
  promote(replica: string): Promise<unknown>;
  /** The customer's database. */
  readonly database: string;
}

const KINDS: Record<FreshDatabase["kind"], Servers> = {
  postgres: {
    start: startPostgres,
    follow: (primary, from) => startStandby(primary, "replica", { from }),
    promote: (replica) => asking("postgres", replica)("SELECT pg_promote()"),
    database: "postgres",
  },
  mysql: {
    start: mariadb.startPrimary,
    follow: mariadb.startReplica,
    promote: mariadb.promote,
    database: "customers",
  },
};

interface Failover {
  readonly world: World;
  /** From now on the replica gets nothing of what the primary commits. */
  lag(): void;
  /** The primary is killed, and the replica takes its place after so many milliseconds. */
  failOver(outageMs?: number): Promise<void>;
}

/** A world in sync, on a primary and an asynchronous replica behind one address. */
async function aReplicatedWorld(): Promise<Failover> {
  const kind = inject("databaseKind");
  const { start, follow, promote, database: name } = KINDS[kind];
  const within = (url: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  const primary = await start();
  onTestFinished(() => primary.stop());
  const link = await tcpProxy(primary.url);
  const replica = await follow(primary, link.url);
  onTestFinished(() => replica.stop());
  if (kind === "mysql") await asking(kind, primary.url)(`CREATE DATABASE ${name}`);
  const address = await tcpProxy(primary.url);
  const url = within(address.url);
  const database: FreshDatabase = { kind, name, url, query: asking(kind, url) };
  const world = await aWorld({ database, tenants: TENANTS, service: { latency: LATENCY }, config: AT_ONCE });
  expect(await world.sync()).toMatchObject({ code: 0 });
  const onReplica = asking(kind, within(replica.url));
  const isFinished = "SELECT 1 FROM groupsync_runs WHERE finished_at IS NOT NULL";
  await expect.poll(() => onReplica(isFinished).catch(() => []), { timeout: 20_000 }).toHaveLength(1);
  await world.forgetRequests();
  return {
    world,
    lag: () => link.limit(0),
    async failOver(outageMs = 0) {
      await primary.kill();
      await sleep(outageMs);
      await promote(replica.url);
      address.redirect(replica.url);
    },
  };
}

interface Case {
  readonly command: "rotate" | "sync";
  readonly config?: ConfigChanges;
  /** The replica lacks what is committed after so many requests of the run; all of the run by default. */
  readonly lagsAfter?: number;
  readonly lagMs?: number;
  readonly outageMs?: number;
}

/** At two requests a second a rotation takes longer than the lag. */
const SLOWLY: ConfigChanges = { service: { rate_limit: "2/s" } };

const CASES: readonly (readonly [what: string, how: Case])[] = [
  ["a run that is younger than the lag", { command: "rotate" }],
  ["a lag of 13 seconds", { command: "rotate", config: SLOWLY, lagsAfter: 5, lagMs: 13_000 }],
  ["a run whose database is away for a while", { command: "rotate", lagsAfter: 9, outageMs: 4_000 }],
  ["new groups, whose tenants the replica never had", { command: "sync" }],
];

describe.each(someOf(CASES))(
  "a failover and %s:",
  (_, { command, config, lagsAfter, lagMs = 0, outageMs }) => {
    test("the run says which groups are in doubt, and the next sync heals them", async () => {
      const { world, lag, failOver } = await aReplicatedWorld();
      await world.configure({ ...AT_ONCE, ...config });
      if (lagsAfter === undefined) lag();
      if (command === "sync") await world.addTenants(TENANTS + 1, 2 * TENANTS);
      const run = world.start(...ARGS[command]);
      await untilRequests(world, lagsAfter ?? TENANTS / 2, run);
      lag();
      if (lagsAfter !== undefined) await untilRequests(world, lagsAfter + 5, run);
      await sleep(lagMs);
      await failOver(outageMs);
      const { code, stdout, stderr } = await run.ended;
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("went back in time"),
      });
      expect(JSON.parse(stdout).errors).toMatchObject([{ code: "LEDGER_REWOUND" }]);
      expect(stdout + stderr).not.toContain("LEASE_LOST");
      await world.configure(AT_ONCE);
      await expectHealed(world, TENANTS);
    });
  },
);

test.skipIf(!LONG)("a daemon that goes through a failover heals by itself what it had made", async () => {
  const { world, lag, failOver } = await aReplicatedWorld();
  await world.configure({ ...AT_ONCE, ...EVERY_SECOND });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  lag();
  await world.addTenants(TENANTS + 1, 2 * TENANTS);
  await until(async () => (await world.groups()).length === 2 * TENANTS);
  await failOver(4_000);
  await daemon.says("went back in time");
  await until(async () => (await world.groups()).length === TENANTS);
  await daemon.program.stop("SIGTERM");
  expect(daemon.program.output()).not.toContain("LEASE_LOST");
  await expectHealed(world, TENANTS);
});

test.skipIf(!LONG)(
  "a process that died with its primary: the next one sees the failover, and asks for all groups",
  async () => {
    const { world, lag, failOver } = await aReplicatedWorld();
    lag();
    await world.rotate("--all", "--yes");
    await failOver();
    const { code, report, stderr } = await world.sync();
    expect({ code, report }).toMatchObject({
      code: 0,
      report: { requests: TENANTS, refreshed: TENANTS, drift: { token: 0 } },
    });
    expect(stderr).toContain("LEDGER_REWOUND");
    expect(await world.stored()).toEqual(await world.live());
  },
);
