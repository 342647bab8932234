import { expect, test } from "vitest";
import { LONG } from "../../support/long.ts";
import { aDaemon, type RunningDaemon } from "../daemon/a-daemon.ts";
import type { Program } from "../program.ts";
import { aWorld, idOf, until, type World } from "../world.ts";

/** A daemon that syncs at its start, and then no more before the test is over. */
const ONCE = { schedule: "0 0 1 1 *", http: { listen: "127.0.0.1:0" } } as const;

/** Tenants that a daemon has just begun to make groups for. */
async function aBackfill(tenants: number, latency: number): Promise<World> {
  const service = { concurrency: 2, timeout: "4s" };
  return aWorld({
    tenants,
    service: { latency: { min: latency, max: latency } },
    config: { ...ONCE, service },
  });
}

const total = async (world: World): Promise<number> => (await world.requests()).total;

/** Resolves once a whole sync of one of these daemons has reached its end. */
const untilDone = (...daemons: readonly RunningDaemon[]): Promise<void> =>
  until(() => daemons.some((daemon) => daemon.runs().some(({ outcome }) => outcome === "ok")));

const handOvers = (daemon: RunningDaemon): number =>
  daemon.runs().filter(({ code }) => code === "LEASE_HANDED_OVER").length;

const untilItWaits = (command: Program): Promise<void> =>
  until(() => command.output().includes("hands it over"));

/** How often each tenant was asked for by GET. */
async function timesAsked(world: World): Promise<Readonly<Record<string, number>>> {
  const { by_group } = await world.requests();
  return Object.fromEntries(Object.entries(by_group).map(([id, { GET }]) => [id, GET]));
}

const onceEach = (tenants: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Array.from({ length: tenants }, (_, n) => [idOf(n + 1), 1]));

test("commands get their turn in a daemon's backfill, which goes on after them and asks for each tenant once", async () => {
  const TENANTS = 80;
  const world = await aBackfill(TENANTS, 150);
  const daemon = await aDaemon(world);
  await until(async () => (await total(world)) > 4);

  const last = idOf(TENANTS);
  const sync = await world.sync("--only", last);
  expect({ code: sync.code, ...sync.report }).toMatchObject({ code: 0, outcome: "ok", created: 1 });
  const rotate = await world.rotate("--only", last);
  expect({ code: rotate.code, ...rotate.report }).toMatchObject({ code: 0, outcome: "ok", rotated: 1 });
  expect(Object.keys(await world.live()).length).toBeLessThan(TENANTS);

  await untilDone(daemon);
  expect(handOvers(daemon)).toBeGreaterThan(0);
  expect(daemon.runs().filter(({ level }) => level !== "info" && level !== "debug")).toEqual([]);
  expect(await timesAsked(world)).toEqual(onceEach(TENANTS));
  expect(await world.stored()).toEqual(await world.live());
  expect(await world.status()).toMatchObject({ groups: { total: TENANTS, under_way: 0, failing: 0 } });
  const metrics = (await daemon.page("/metrics")).text;
  expect(metrics).toMatch(/^groupsync_runs_total\{outcome="failed"\} 0$/m);
});

// engine/lease/hand-over.test.ts and the simulation show in every run what a death does.
test.runIf(LONG)(
  "a command that is killed while it waits doesn't keep the daemon from its work",
  async () => {
    const TENANTS = 5;
    const world = await aBackfill(TENANTS, 2_000);
    const daemon = await aDaemon(world);
    await until(async () => (await total(world)) > 0);
    const command = world.start("sync", "--only", idOf(1));
    await untilItWaits(command);
    await command.stop("SIGKILL");
    await untilDone(daemon);
    expect(await world.database.query("SELECT requested_by FROM groupsync_requests")).toEqual([]);
    expect(await timesAsked(world)).toEqual(onceEach(TENANTS));
    expect(await world.stored()).toEqual(await world.live());
  },
);

test.runIf(LONG)("a command that waits for a daemon goes on when the daemon is killed", async () => {
  const TENANTS = 5;
  const world = await aBackfill(TENANTS, 2_000);
  const daemon = await aDaemon(world);
  await until(async () => (await total(world)) > 0);
  const command = world.start("sync", "--json");
  await untilItWaits(command);
  await daemon.program.stop("SIGKILL");
  const { code, stdout } = await command.ended;
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: "ok" });
  expect(Object.keys(await world.stored())).toHaveLength(TENANTS);
  expect(await world.stored()).toEqual(await world.live());
  expect(await world.status()).toMatchObject({ lease: null, groups: { total: TENANTS, under_way: 0 } });
});
