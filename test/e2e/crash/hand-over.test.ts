import { expect, test } from "vitest";
import { aDaemon, type RunningDaemon } from "../daemon/a-daemon.ts";
import { aWorld, idOf, until, type World } from "../world.ts";

const total = async (world: World): Promise<number> => (await world.requests()).total;

/** Resolves once a whole sync of one of these daemons has reached its end. */
const untilDone = (...daemons: readonly RunningDaemon[]): Promise<void> =>
  until(() => daemons.some((daemon) => daemon.runs().some(({ outcome }) => outcome === "ok")));

const handOvers = (daemon: RunningDaemon): number =>
  daemon.runs().filter(({ code }) => code === "LEASE_HANDED_OVER").length;

/** How often each tenant was asked for by GET. */
async function timesAsked(world: World): Promise<Readonly<Record<string, number>>> {
  const { by_group } = await world.requests();
  return Object.fromEntries(Object.entries(by_group).map(([id, { GET }]) => [id, GET]));
}

const onceEach = (tenants: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Array.from({ length: tenants }, (_, n) => [idOf(n + 1), 1]));

test("commands get their turn in a daemon's backfill, which goes on after them and asks for each tenant once", async () => {
  const TENANTS = 80;
  const world = await aWorld({
    tenants: TENANTS,
    service: { latency: { min: 150, max: 150 } },
    // The daemon syncs at its start, and then no more before the test is over.
    config: {
      schedule: "0 0 1 1 *",
      http: { listen: "127.0.0.1:0" },
      service: { concurrency: 2, timeout: "4s" },
    },
  });
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
