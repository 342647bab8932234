import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { incidentsOfState } from "../../src/core/report/incidents.ts";
import type { DaemonSettings } from "../../src/daemon/daemon.ts";
import { readiness } from "../../src/daemon/pages.ts";
import { Silence } from "../../src/engine/refresh/sign-of-life.ts";
import { TenantServer } from "../../src/engine/serving/tenant-server.ts";
import { type Fate, failing, type Point } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";
import { SETTINGS, Stage } from "./stage.ts";

const FEEDS = "a channel";
const FOREVER = new AbortController().signal;

/** A daemon that serves single tenants. */
function aServingDaemon(settings: Partial<DaemonSettings> = {}, fate: Fate = {}, world = aWorld()) {
  const lease = { ...syncSettings().lease, handsOver: true };
  const stage = new Stage(world, { feeds: FEEDS, ...settings }, fate, [], {
    lease,
    refresh: { everyMs: null, silence: new Silence() },
  });
  const server = new TenantServer({
    clock: new VirtualClock(world.time),
    onServed: (user_group_id, served, ms) =>
      stage.daemon.observe({ kind: "served", user_group_id, served, ms }),
    onOverflow: () => stage.daemon.syncSoon(),
  });
  /** Starts and stops of the ways to notice tenants. */
  const noticed: string[] = [];
  const aNoticing = (name: string) => ({
    start: async () => void noticed.push(`start ${name}`),
    stop: async () => void noticed.push(`stop ${name}`),
    state: { column: null, channel: null },
  });
  stage.singleTenants = { server, noticing: aNoticing("first") };
  /** Resolves once the full sync of this number is over, counted from 1. */
  const ran = async (count: number): Promise<void> => {
    while (world.ledger.runs.filter(({ finishedAt }) => finishedAt !== null).length < count)
      await world.time.sleep(100);
  };
  return {
    ...{ world, stage, server, noticed, aNoticing },
    serve: (id: string, waitMs = 3_600_000) => server.serve(id, waitMs, FOREVER),
    ran,
    /** Begins, and resolves once the first full sync is over. */
    begin: async () => {
      stage.daemon.begin();
      await ran(1);
    },
    reconfigure: (changed: Partial<DaemonSettings>) =>
      stage.daemon.reconfigure({
        ...SETTINGS,
        feeds: FEEDS,
        notifier: stage.notifier,
        ...settings,
        ...changed,
      }),
  };
}

const aWorld = (): World => new World(tenants("a"));
const signUp = (world: World, id: string): void => void world.tenants.push(...tenants(id));
const CREATED = { kind: "done", outcome: "created" };

test("serves a tenant between two full syncs", async () => {
  const { world, serve, begin } = aServingDaemon();
  await begin();
  signUp(world, "b");
  expect(await serve("b")).toEqual(CREATED);
  expect(world.ledger.runs).toHaveLength(1);
});

test("begins at once even if it must not run at the start, because nothing is served without a lease", async () => {
  const { world, stage, serve } = aServingDaemon({ schedule: { ...SETTINGS.schedule, runAtStart: false } });
  stage.daemon.begin();
  signUp(world, "b");
  expect(await serve("b")).toEqual(CREATED);
});

describe("a full sync that a notice asks for", () => {
  test("follows a full sync that was under way, and one follows for many notices", async () => {
    const { world, stage, ran } = aServingDaemon();
    world.network = async () => {
      stage.daemon.syncSoon();
      await world.time.sleep(5_000);
    };
    stage.daemon.begin();
    await ran(2);
    await world.time.sleep(60_000);
    expect(world.ledger.runs).toHaveLength(2);
  });
});

describe("comes back within seconds", () => {
  test("after a database that was away for minutes", async () => {
    let isAway = false;
    const at = ({ when, call }: Point): void => {
      if (isAway && when === "before" && !["getOrCreate", "sleep"].includes(call))
        throw new SyncError("LEDGER_UNAVAILABLE", "no route");
    };
    const { world, serve, begin } = aServingDaemon({}, { at });
    await begin();
    for (const [id, ms] of [
      ["b", 600_000],
      ["c", 1_234_567],
      ["d", 333_333],
    ] as const) {
      isAway = true;
      await world.time.sleep(ms);
      isAway = false;
      signUp(world, id);
      const asked = world.time.elapsed;
      expect(await serve(id)).toEqual(CREATED);
      expect(world.time.elapsed - asked).toBeLessThan(11_000);
    }
  });

  test.each(["config", "schedule"])("of another %s after a failure", async (what) => {
    const { world, stage, reconfigure, serve } = aServingDaemon();
    stage.openFails = new SyncError("CONFIG_INVALID", "no key");
    stage.daemon.begin();
    await world.time.sleep(600_000);
    stage.openFails = undefined;
    if (what === "config") reconfigure({});
    else stage.due();
    signUp(world, "b");
    const asked = world.time.elapsed;
    expect(await serve("b")).toEqual(CREATED);
    expect(world.time.elapsed - asked).toBeLessThan(1_000);
  });
});

test("doesn't try without pauses while the service refuses the key", async () => {
  const at = failing("before", "getOrCreate", () => new SyncError("KEY_REFUSED", "HTTP 401"));
  const { world, stage } = aServingDaemon({}, { at });
  stage.daemon.begin();
  await world.time.sleep(3_600_000);
  expect(world.ledger.runs.length).toBeLessThan(200);
});

describe("a sign-up while the service refuses everybody", () => {
  /** Those that are sent here, and what tells whether a refusal concerns everybody. */
  const CALLS = new Set(["getOrCreate", "rotateNobody", "getWithWrongKey"]);

  /** A sign-up after the first full sync, two minutes after its call was refused for the first time. */
  async function aRefusedSignUp(failure: SyncError) {
    let isRefusing = false;
    const at = ({ when, call }: Point): void => {
      if (isRefusing && when === "before" && CALLS.has(call)) throw failure;
    };
    const daemon = aServingDaemon({}, { at });
    const { world, stage, server, begin } = daemon;
    await begin();
    await world.time.sleep(1_000);
    const before = { beats: stage.beats, lastGoodSync: stage.daemon.state.lastGoodSync };
    isRefusing = true;
    signUp(world, "b");
    server.notice("b");
    await world.time.sleep(120_000);
    const state = () => stage.daemon.state;
    const repair = async (): Promise<void> => {
      isRefusing = false;
      await daemon.serve("b");
      stage.due();
      await world.time.sleep(120_000);
    };
    return { ...daemon, before, state, repair };
  }

  test.each([
    new ServiceFailure("KEY_REFUSED", "HTTP 401"),
    new ServiceFailure("INTERMEDIARY_REFUSED", "HTML 403"),
    new ServiceFailure("UNREACHABLE", "ECONNREFUSED"),
  ])("is told as such on every surface until the service answers well: $code", async (failure) => {
    const { world, stage, server, before, state, repair } = await aRefusedSignUp(failure);
    expect({ beats: stage.beats, lastGoodSync: stage.daemon.state.lastGoodSync }).toEqual(before);
    expect(stage.told).toEqual([expect.stringContaining("The last sync failed: ")]);
    expect(world.ledger.runs.slice(0, -1).map(({ result }) => result?.outcome ?? "failed")).not.toContain(
      "partial",
    );
    stage.serving = {
      feeds: { column: null, channel: null },
      takesRequests: true,
      oldestMs: server.oldestMs,
      failing: server.failing,
    };
    const now = world.time.now();
    expect(incidentsOfState(state(), now).map(({ sentence }) => sentence)).toEqual([
      expect.stringContaining("The last sync failed"),
      expect.stringContaining("Needs attention: a tenant has been waiting for 2 min"),
    ]);
    expect(readiness(state(), now).reason).toMatch(/failed|waiting/);
    await repair();
    stage.serving = null;
    expect(stage.told).toHaveLength(2);
    expect(stage.told[1]).toContain("recovered. Over: The last sync failed: ");
    expect(incidentsOfState(state(), world.time.now())).toEqual([]);
  });
});

describe("other ways in a config that is read again", () => {
  test("are in force soon, and the former ones end", async () => {
    const { world, stage, server, noticed, aNoticing, reconfigure, begin, ran } = aServingDaemon();
    await begin();
    stage.singleTenants = { server, noticing: aNoticing("second") };
    reconfigure({ feeds: "another channel" });
    await ran(2);
    await world.time.sleep(60_000);
    expect(noticed).toEqual(["start first", "stop first", "start second"]);
    expect(world.ledger.runs).toHaveLength(2);
  });

  test("begin the service of single tenants in a daemon without it", async () => {
    const { world, stage, reconfigure, begin, serve } = aServingDaemon({ feeds: undefined });
    const { singleTenants } = stage;
    stage.singleTenants = undefined;
    await begin();
    await stage.idle();
    expect(world.ledger.lease?.holder ?? "").toBe("");
    stage.singleTenants = singleTenants;
    reconfigure({ feeds: FEEDS });
    signUp(world, "b");
    expect(await serve("b")).toEqual(CREATED);
  });

  test("end the service of single tenants if there are none any more, and the lease is free", async () => {
    const { world, stage, noticed, reconfigure, begin, ran } = aServingDaemon();
    await begin();
    stage.singleTenants = undefined;
    reconfigure({ feeds: undefined });
    await ran(2);
    await stage.idle();
    expect(noticed).toEqual(["start first", "stop first"]);
    expect(world.ledger.lease?.holder ?? "").toBe("");
    await stage.scheduledRun();
    expect(world.ledger.runs).toHaveLength(3);
  });

  test("and the same ways disturb nothing", async () => {
    const { world, noticed, reconfigure, begin } = aServingDaemon();
    await begin();
    reconfigure({ staleAfterMs: 7 });
    await world.time.sleep(60_000);
    expect(noticed).toEqual(["start first"]);
    expect(world.ledger.runs).toHaveLength(1);
  });
});

test("is told to stop at any moment, and ends", async () => {
  for (let ms = 0; ms < 12_000; ms += 1_700) {
    const world = new World(tenants("a", "b", "c"));
    world.network = () => world.time.sleep(1_000);
    const { stage, server } = aServingDaemon({}, {}, world);
    stage.daemon.begin();
    await world.time.sleep(ms);
    signUp(world, "d");
    server.notice("d");
    await world.time.sleep(300);
    stage.stopping.abort();
    await stage.daemon.ended();
    expect(world.ledger.lease?.holder ?? "").toBe("");
  }
});

test("counts as the holder of the lease only while it holds the lease", async () => {
  const { stage, begin, ran } = aServingDaemon();
  expect(stage.daemon.isHolder).toBe(false);
  await begin();
  expect(stage.daemon.isHolder).toBe(true);
  stage.due();
  await ran(2);
  expect(stage.daemon.isHolder).toBe(true);
  stage.stopping.abort();
  await stage.daemon.ended();
  expect(stage.daemon.isHolder).toBe(false);
});
