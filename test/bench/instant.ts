import { availableParallelism, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseKind } from "../support/databases/database-server.ts";
import { freePort } from "../support/servers/embedded-server.ts";
import { type Bench, type Benchmark, benchmark, quantile } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { cpuMsOf, cpuMsOfTree } from "./instant/cpu-time.ts";
import { type RunningDaemon, withDaemon } from "./instant/running-daemon.ts";
import { openTenants, type Tenants } from "./instant/tenants.ts";
import { columnWay, OTHER_WAYS, type Way } from "./instant/ways.ts";
import { measuredSync, withService } from "./service.ts";
import { createSyncedCustomers } from "./synced-customers.ts";

interface Sizes {
  readonly tenants: number;
  readonly inserts: number;
  readonly insertsPerSecond: number;
  /** Tenants whose groups a full sync creates meanwhile. */
  readonly backfill: number;
  /** How often the change column is asked, in milliseconds. */
  readonly everyMs: number;
  /** Before the idle time: the daemon reads the ledger after its sync, and the server cleans up after the fill. */
  readonly restMs: number;
  readonly idleMs: number;
}

interface Ground {
  readonly bench: Bench;
  readonly sizes: Sizes;
  readonly tenants: Tenants;
  /** The service keeps its port, because the ledger belongs to one service. */
  readonly port: number;
}

/**
 * (f) The time from the commit of a tenant's INSERT to the commit of its token, as other connections see them. Also the
 * CPU time of a daemon that does nothing but ask the change column, and of its database.
 */
export const instantOn = (server: DatabaseKind): Benchmark =>
  benchmark<Sizes>({
    server,
    full: {
      tenants: 1_000_000,
      inserts: 300,
      insertsPerSecond: 5,
      backfill: 10_000,
      everyMs: 1_000,
      restMs: 60_000,
      idleMs: 60_000,
    },
    tiny: {
      tenants: 5,
      inserts: 2,
      insertsPerSecond: 20,
      backfill: 30,
      everyMs: 100,
      restMs: 0,
      idleMs: 100,
    },

    async run(bench, sizes) {
      const { database, print } = bench;
      const port = await freePort();
      const tenants = await createTenants(bench, sizes, port);
      const ground: Ground = { bench, sizes, tenants, port };
      try {
        print(
          `(f) from INSERT to token, ${sizes.tenants} tenants in ${database.name}, ${sizes.inserts} INSERTs, ${sizes.insertsPerSecond} a second`,
        );
        const column = columnWay(sizes.everyMs);
        await measureIdle(ground, column);
        for (const way of server === "postgres" ? [column, ...OTHER_WAYS] : [column])
          await measureWay(ground, way);
      } finally {
        await tenants.close();
      }
    },
  });

/** Makes tenants who are in sync, in a table that shows what has changed. */
async function createTenants(
  bench: Bench,
  { tenants: count }: Pick<Sizes, "tenants">,
  port: number,
): Promise<Tenants> {
  const { database, folder } = bench;
  return await withService(sandboxFlags({ port }), async (service) => {
    const config = writeConfig(folder, database.url, service, 16);
    await createSyncedCustomers(bench.database, service, config, { tenants: count, made: 1 });
    const tenants = openTenants(database.kind, database.url);
    await tenants.prepare();
    await measuredSync(service, config, 0);
    await tenants.tidy();
    return tenants;
  });
}

async function measureIdle(ground: Ground, way: Way): Promise<void> {
  const { bench, tenants, sizes } = ground;
  const serverPid = await tenants.serverPid();
  const [before, after] = await beside(ground, way, async (daemon) => {
    await daemon.ran();
    await sleep(sizes.restMs);
    const used = () => ({ groupsync: cpuMsOf(daemon.pid), server: cpuMsOfTree(serverPid) });
    const atStart = used();
    await sleep(sizes.idleMs);
    return [atStart, used()] as const;
  });
  const share = (ms: number): string => `${((100 * ms) / sizes.idleMs).toFixed(2)} %`;
  const groupsync = after.groupsync - before.groupsync;
  const server = after.server - before.server;
  bench.print(
    `    idle, ${way.name}: of a core, groupsync ${share(groupsync)}, the database ${share(server)}, both ${share(groupsync + server)} (at most 1 %); ${load()}`,
  );
}

async function measureWay(ground: Ground, way: Way): Promise<void> {
  const { bench, tenants, sizes } = ground;
  const ids = (kind: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, n) => `${kind}-${way.name.replaceAll(/\W/g, "")}-${n}`);
  if (way.isBesideBackfill) await tenants.insert(ids("old", sizes.backfill));
  const storedBefore = await tenants.stored();
  const times = await beside(ground, way, async (daemon) => {
    if (way.isBesideBackfill)
      await until(async () => (await tenants.stored()) > storedBefore, "the backfill doesn't begin");
    else await daemon.ran();
    return timeInserts(ids("new", sizes.inserts), tenants, sizes, way.asks ? daemon.post : undefined);
  });
  const figure = (name: keyof Way["atMost"], share: number): string =>
    `${name} ${quantile(times, share).toFixed(0)} ms (at most ${way.atMost[name]})`;
  bench.print(`    ${way.name.padEnd(44)} ${figure("p50", 0.5)}, ${figure("p99", 0.99)}; ${load()}`);
}

/** Runs a daemon and its service for as long as `use` takes. */
const beside = <T>(
  ground: Ground,
  { service: keys, changes, flags }: Way,
  use: (daemon: RunningDaemon) => Promise<T>,
): Promise<T> =>
  withService([...sandboxFlags(ground), "--latency", "20", ...flags], (service) =>
    withDaemon(ground.bench, service, { service: keys, changes }, use),
  );

const sandboxFlags = ({ port }: Pick<Ground, "port">): readonly string[] => ["--port", String(port)];

/** What else the machine does makes all figures worse. */
const load = (): string => `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`;

/** In milliseconds. */
const LONGEST_WAIT = 120_000;
const POLL_MS = 20;

/**
 * Inserts these tenants one by one, each at a random moment of its part of the time, and calls `ask` for each of them once
 * its INSERT is committed. Resolves with the times from commit to token, in milliseconds.
 */
async function timeInserts(
  ids: readonly string[],
  tenants: Tenants,
  { insertsPerSecond }: { readonly insertsPerSecond: number },
  ask: ((id: string) => Promise<void>) | undefined,
): Promise<readonly number[]> {
  const committedAt = new Map<string, number>();
  const asking: Promise<void>[] = [];
  const part = 1_000 / insertsPerSecond;
  const startedAt = performance.now();
  for (const [index, id] of ids.entries()) {
    await sleep(startedAt + (index + Math.random()) * part - performance.now());
    await tenants.insert([id]);
    committedAt.set(id, performance.now());
    const asked = ask?.(id) ?? Promise.resolve();
    // It is awaited once all are inserted.
    asked.catch(() => {});
    asking.push(asked);
  }
  await Promise.all(asking);
  await until(() => ids.every((id) => tenants.seenAt.has(id)), "a tenant has no token");
  return ids.map((id) => (tenants.seenAt.get(id) ?? Number.NaN) - (committedAt.get(id) ?? Number.NaN));
}

async function until(condition: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  const startedAt = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedAt > LONGEST_WAIT) throw new Error(otherwise);
    await sleep(POLL_MS);
  }
}
