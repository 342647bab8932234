import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { LONG } from "../../support/long.ts";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { aDaemon, type RunningDaemon, signUp, WITH_SYNC_KEY } from "../daemon/a-daemon.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, idOf, until, type World } from "../world.ts";

/** How long it works, in minutes. `GROUPSYNC_TEST_SOAK_MINUTES=60` makes an hour of it. */
const MINUTES = Number(process.env.GROUPSYNC_TEST_SOAK_MINUTES ?? 2);
const TENANTS = 60;
const ACTS_A_ROUND = 25;
/** The least time between two acts, and the time that a fault lasts, in milliseconds. */
const PAUSE = 100;

/** Nothing waits for anybody's approval, however much somebody deletes. */
const DELETION = { grace_period: "0", limit: { count: 1_000_000, percent: 100 } };

const CALM: SandboxOptions = { existing: "update", latency: { min: 1, max: 20 } };
const SHAKY: SandboxOptions = {
  ...CALM,
  latency: { min: 1, max: 400 },
  shares: { html: 0.02, fail: 0.1, "cut-before": 0.1, "cut-after": 0.1 },
};

/** What a living daemon uses. */
interface Used {
  readonly memoryMb: number;
  readonly files: number;
  readonly sessions: number;
}

/**
 * A daemon lives through random work of a customer, of an operator and of others at the service, through faults of the service
 * and of the database, and in the first half through kills. After each round everything is repaired, and one sync has to make all
 * of it right. In the second half the same process lives on, and must not use more and more.
 */
test.runIf(LONG || process.env.GROUPSYNC_TEST_SOAK_MINUTES)(
  `a daemon stays right and small for ${MINUTES} minutes ${SEEDED}`,
  { timeout: (MINUTES + 10) * 60_000 },
  async () => {
    const random = seededRandom(SEED);
    const upTo = (most: number): number => Math.floor(random() * most);
    const world = await aWorld({
      tenants: TENANTS / 2,
      service: CALM,
      config: {
        ...WITH_SYNC_KEY,
        deletion: DELETION,
        schedule: "*/5 * * * * *",
        service: { timeout: "2s" },
      },
    });
    const line = await tcpProxy(world.database.url);
    world.env.DATABASE_URL = line.url;
    let daemon = await aDaemon(world);
    const { query } = world.database;
    const aTenant = (): string => idOf(1 + upTo(TENANTS));
    // The service is shaky for others too.
    const somebody: World["call"] = (...request) => world.call(...request).catch(() => undefined as never);
    const live = async (): Promise<readonly [string, string]> =>
      (await world.live().then(Object.entries))[upTo(TENANTS / 2)] ?? ["none", "none"];

    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      "a tenant is new, or is back": async () => {
        const id = aTenant();
        await query(`DELETE FROM customers WHERE id = '${id}'`);
        await query(`INSERT INTO customers VALUES ('${id}', 'Neu ${upTo(9)}', 'w', 'gold', NULL)`);
        await Promise.race([signUp(daemon, id, { wait: "1s" }).catch(() => {}), sleep(1_500)]);
      },
      "a tenant changes": () =>
        query(`UPDATE customers SET company_name = 'Name ${upTo(9)}' WHERE id = '${aTenant()}'`),
      "a tenant goes": () => query(`DELETE FROM customers WHERE id = '${aTenant()}'`),
      "somebody rotates a token": async () => somebody("POST", { current_token: (await live())[1] }),
      "somebody deletes a group": async () => {
        const [user_group_id, current_token] = await live();
        await somebody("DELETE", { user_group_id, current_token });
      },
      "the operator wants a new token": async () => {
        const rotation = world.start("rotate", "--only", (await live())[0]);
        await Promise.race([rotation.ended, sleep(upTo(3_000))]);
        await rotation.stop("SIGKILL");
      },
      "the service is shaky": () => world.serve({ ...SHAKY, seed: upTo(1_000) }),
      "the service is calm again": () => world.serve(CALM),
      "the line to the database is cut": async () => {
        line.limit(upTo(3_000));
        await sleep(PAUSE * upTo(10));
        line.limit(Number.POSITIVE_INFINITY);
      },
      "the line to the database is a black hole": async () => {
        line.swallow(true);
        await sleep(PAUSE * upTo(30));
        line.swallow(false);
      },
    };
    const names = Object.keys(acts);
    const began = performance.now();
    const used: Used[] = [];
    let rounds = 0;
    for (let part = 0; part < 1; part = (performance.now() - began) / (MINUTES * 60_000)) {
      for (let act = 0; act < ACTS_A_ROUND; act++) {
        await acts[names[upTo(names.length)] ?? ""]?.();
        await sleep(PAUSE * upTo(4));
      }
      if (part < 0.5) {
        await daemon.program.stop(random() < 0.8 ? "SIGKILL" : "SIGTERM");
        daemon = await aDaemon(world);
      } else used.push(await usedBy(daemon, world));
      await world.serve(CALM);
      await untilRight(world, daemon);
      await expectInSync(world);
      rounds++;
    }
    const third = Math.ceil(used.length / 3);
    const [early, late] = [mostOf(used.slice(0, third)), mostOf(used.slice(-third))];
    console.log(`${rounds} rounds of ${ACTS_A_ROUND} acts; the daemon used`, early, "and at the end", late);
    expect(late.memoryMb).toBeLessThan(early.memoryMb * 1.25);
    expect(late.files).toBeLessThan(early.files + 10);
    expect(late.sessions).toBeLessThan(early.sessions + 5);
  },
);

/** One sync that comes through may meet what was under way when the round ended: its failures wait for their next try. */
async function untilRight(world: World, daemon: RunningDaemon): Promise<void> {
  let printed = "";
  const isRight = async (): Promise<boolean> => {
    const { code, stdout, stderr } = await world.start("sync", "--refresh", "--json").ended;
    printed = `${code}: ${stdout}${stderr}`;
    return code === 0;
  };
  const isLate = sleep(180_000, true, { ref: false });
  const wasLate = await Promise.race([until(isRight).then(() => false), isLate]);
  expect(
    wasLate,
    `no sync ended well for three minutes; the last one: ${printed}\nThe daemon: ${daemon.program.output().slice(-6_000)}`,
  ).toBe(false);
}

async function usedBy({ program }: RunningDaemon, world: World): Promise<Used> {
  const status = readFileSync(`/proc/${program.child.pid}/status`, "utf8");
  return {
    memoryMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024,
    files: readdirSync(`/proc/${program.child.pid}/fd`).length,
    sessions: await world.sessions(),
  };
}

const mostOf = (used: readonly Used[]): Used => ({
  memoryMb: Math.max(...used.map(({ memoryMb }) => memoryMb)),
  files: Math.max(...used.map(({ files }) => files)),
  sessions: Math.max(...used.map(({ sessions }) => sessions)),
});
