import { describe, expect, onTestFinished, test } from "vitest";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { withLease } from "../../src/engine/lease/lease.ts";
import { aRejection } from "../builders/groups.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../fakes/world.ts";
import { PERIOD, SETTINGS, Stage } from "./stage.ts";

const DAY = 86_400_000;

describe("a daemon", () => {
  test("syncs at its start, and with each scheduled time, and holds nothing open in between", async () => {
    const stage = new Stage();
    await stage.begin();
    expect([...stage.world.service.groups.keys()]).toEqual(["a", "b"]);
    stage.world.tenants = tenants("a", "b", "c");
    await stage.scheduledRun();
    expect([...stage.world.service.groups.keys()]).toEqual(["a", "b", "c"]);
    expect([stage.opened, stage.closed]).toEqual([2, 2]);
    expect(stage.daemon.state).toMatchObject({
      version: "1.2.3",
      name: "eu",
      current: null,
      lastRun: { id: "2", result: { outcome: "ok", counts: { created: 1, unchanged: 2 } } },
      skippedRuns: 0,
      ledger: { groups: { total: 3 } },
    });
  });

  test("is stale once three scheduled times have passed since its last good sync", async () => {
    const stage = new Stage();
    await stage.begin();
    const { staleAt, lastGoodSync } = stage.daemon.state;
    expect(staleAt.getTime() - (lastGoodSync?.getTime() ?? 0)).toBe(3 * PERIOD);
  });

  test("rotates wanted tokens for half of the time between two syncs", async () => {
    const ids = Array.from({ length: 40 }, (_, n) => `t${n}`);
    const stage = new Stage(new World(tenants(...ids)));
    await stage.begin();
    const { ledger, time } = stage.world;
    for (const [id, record] of ledger.rows) ledger.rows.set(id, { ...record, wantedSince: time.now() });
    stage.world.network = () => time.sleep(10_000);
    await stage.scheduledRun();
    expect(stage.daemon.state.lastRun).toMatchObject({ result: { counts: { rotated: 15, wanted: 25 } } });
  });

  test("waits for its first scheduled time if it must not run at the start, and reads the ledger all the same", async () => {
    const world = await aSyncedWorld(["a"]);
    const stage = new Stage(world, { schedule: { ...SETTINGS.schedule, runAtStart: false } });
    await stage.begin();
    expect(stage.opened).toBe(0);
    expect(stage.daemon.state).toMatchObject({ lastRun: null, ledger: { groups: { total: 1 } } });
    expect(stage.daemon.state.lastGoodSync).toEqual(world.ledger.runs[0]?.finishedAt);
    await stage.scheduledRun();
    expect(stage.opened).toBe(1);
  });

  test("skips and counts a scheduled time that comes while a run is under way", async () => {
    const stage = new Stage();
    stage.daemon.begin();
    for (let time = 0; time < 3; time++) stage.due();
    await stage.idle();
    expect(stage.opened).toBe(1);
    expect(stage.daemon.state.skippedRuns).toBe(3);
    await stage.scheduledRun();
    expect(stage.opened).toBe(2);
    expect(stage.log.map(({ message }) => message)).toEqual([
      "skipped a scheduled time: the last sync is still running",
      "skipped 3 scheduled times while that sync was running",
    ]);
  });

  test.each<[string, Error, object]>([
    [
      "a secret that can't be read",
      new SyncError("CONFIG_INVALID", "no key", { hint: "repair it" }),
      { code: "CONFIG_INVALID", message: "no key", hint: "repair it" },
    ],
    [
      "a mistake in the program",
      new TypeError("x is undefined"),
      { code: "INTERNAL", message: "x is undefined" },
    ],
  ])("goes on after %s", async (_, thrown, error) => {
    const stage = new Stage();
    stage.openFails = thrown;
    await stage.begin();
    expect(stage.daemon.state.lastRun).toMatchObject({ id: null, result: { outcome: "failed", error } });
    stage.openFails = undefined;
    await stage.scheduledRun();
    expect(stage.daemon.state.lastRun).toMatchObject({ result: { outcome: "ok", counts: { created: 2 } } });
  });

  test("keeps the last ledger snapshot if the ledger can't be read", async () => {
    const stage = new Stage();
    await stage.begin();
    const { ledger } = stage.daemon.state;
    stage.readFails = new SyncError("LEDGER_UNAVAILABLE", "away");
    await stage.scheduledRun();
    expect(stage.daemon.state.ledger).toBe(ledger);
    expect(stage.daemon.state.lastRun).toMatchObject({ id: "2", result: { outcome: "ok" } });
  });

  test("goes on if an observer fails, and says so once", async () => {
    const heard: string[] = [];
    const failing = (): void => {
      throw new RangeError("Invalid count value: -28");
    };
    const stage = new Stage(undefined, {}, {}, [failing, ({ kind }) => heard.push(kind)]);
    await stage.begin();
    await stage.scheduledRun();
    expect(stage.daemon.state).toMatchObject({
      current: null,
      lastRun: { id: "2", result: { outcome: "ok" } },
    });
    expect(heard.filter((kind) => kind === "finished")).toHaveLength(2);
    const message = "an observer failed, and the runs go on: Invalid count value: -28";
    expect(stage.log).toEqual([{ level: "error", code: "INTERNAL", message }]);
  });

  test("loses no delayed scheduled time if the new settings have the same schedule", async () => {
    const stage = new Stage();
    await stage.begin();
    const schedule = { ...SETTINGS.schedule };
    stage.daemon.reconfigure({ ...SETTINGS, schedule, staleAfterMs: 7, notifier: stage.notifier });
    expect(stage.schedules).toEqual([SETTINGS.schedule]);
  });

  test("finishes what is under way when it is told to stop, and begins nothing more", async () => {
    const ids = Array.from({ length: 50 }, (_, n) => `t${n}`);
    const stage = new Stage(
      new World(tenants(...ids)),
      {},
      {
        at: ({ when, call, id }) => {
          if (when === "after" && call === "getOrCreate" && id === "t10") stage.stopping.abort();
        },
      },
    );
    stage.openFails = new SyncError("CONFIG_INVALID", "no key");
    await stage.begin();
    stage.openFails = undefined;
    stage.due();
    while (!stage.stopping.signal.aborted) await new Promise(setImmediate);
    await stage.daemon.ended();
    const { size } = stage.world.service.groups;
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(50);
    expect(stage.world.store.tokens.size).toBe(size);
    expect(stage.ledgerReads).toBe(2);
    expect(stage.daemon.state).toMatchObject({
      nextRun: null,
      lastRun: { result: { error: { code: "INTERRUPTED" } } },
    });
    // The run that was told to stop is no end of the failure before it.
    expect(stage.told).toEqual([expect.stringContaining("The last sync failed: CONFIG_INVALID")]);
  });
});

describe("an instance in standby", () => {
  test("waits for the lease and takes over once it is free", async () => {
    const world = new World(tenants("a"));
    const stage = new Stage(world);
    const release = somebodyAtWork(world);
    await standby(stage);
    expect(stage.daemon.state).toMatchObject({
      standby: { message: expect.stringContaining("another instance is at work: another") },
      lastRun: null,
    });
    stage.due();
    expect(stage.daemon.state.skippedRuns).toBe(0);
    release();
    while (stage.daemon.state.lastRun === null) await new Promise(setImmediate);
    expect(stage.daemon.state).toMatchObject({ standby: null, lastRun: { result: { outcome: "ok" } } });
    expect([...world.service.groups.keys()]).toEqual(["a"]);
    expect(stage.told).toEqual([]);
  });

  test("takes what the other instance has left for known", async () => {
    const world = new World([...tenants("a"), { id: "b", name: null, plan: null }]);
    const stage = new Stage(world);
    const release = somebodyAtWork(world);
    await standby(stage);
    world.ledger.rejections = [{ ...aRejection({ user_group_id: "b" }), since: new Date(0) }];
    await world.time.sleep(30_000);
    release();
    while (stage.daemon.state.lastRun === null) await new Promise(setImmediate);
    await stage.idle();
    expect(stage.daemon.state.lastRun.result?.outcome).toBe("partial");
    expect(stage.told).toEqual([]);
  });

  test("stops at once", async () => {
    const stage = new Stage();
    somebodyAtWork(stage.world);
    await standby(stage);
    stage.stopping.abort();
    await stage.daemon.ended();
  });
});

describe("a command beside the daemon", () => {
  const IDS = Array.from({ length: 12 }, (_, n) => `tenant ${n}`);
  /** It has been under way for a few seconds. */
  const aBackfill = async () => {
    const world = new World(tenants(...IDS));
    world.network = () => world.time.sleep(1_500);
    const lease = { ...syncSettings().lease, holder: "daemon", handsOver: true };
    const stage = new Stage(world, {}, {}, [], { lease, concurrency: 1 });
    const done = async () => {
      while (stage.daemon.state.lastRun === null) await world.time.sleep(500);
    };
    stage.daemon.begin();
    await world.time.sleep(4_000);
    return { world, stage, done };
  };

  test("gets its turn in a backfill, which then goes on where it was", async () => {
    const { world, stage, done } = await aBackfill();
    const only = new Set([IDS[11] ?? ""]);
    expect(await world.sync({ only })).toMatchObject({ outcome: "ok", counts: { created: 1 } });
    expect(world.service.groups.size).toBeLessThan(IDS.length);
    expect(stage.daemon.state).toMatchObject({
      lastRun: null,
      standby: { message: expect.stringContaining("this, who asked for it") },
    });
    stage.due();
    await done();
    expect(stage.daemon.state).toMatchObject({
      standby: null,
      lastRun: { result: { outcome: "ok" } },
      skippedRuns: 0,
    });
    expect(world.service.requests.map(({ id }) => id).sort()).toEqual(IDS.toSorted());
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.runs.map(({ command, result }) => [command, result?.error?.code])).toEqual([
      ["sync", undefined],
      ["sync --only", undefined],
      ["sync", "LEASE_HANDED_OVER"],
    ]);
    expect(stage.told).toEqual([]);
  });

  test.each([31_000, 62_000, 119_000])(
    "may take %i ms, and the daemon goes on a few seconds after that",
    async (ms) => {
      const { world, done } = await aBackfill();
      const { lease } = syncSettings();
      await withLease(atWork(world), lease, new AbortController().signal, () => world.time.sleep(ms));
      const before = world.time.elapsed;
      while (world.ledger.lease?.holder !== "daemon") await world.time.sleep(100);
      expect(world.time.elapsed - before).toBeLessThan(3_000);
      await done();
      expect(world.service.requests).toHaveLength(IDS.length);
    },
  );

  test("that ends badly is told of by the daemon's own sync", async () => {
    const { world, stage, done } = await aBackfill();
    world.tenants.push({ id: "nameless", name: null, plan: "gold" });
    expect(await world.sync()).toMatchObject({ outcome: "partial" });
    await done();
    await stage.idle();
    expect(stage.told).toEqual([expect.stringContaining("1 rejected row")]);
  });
});

/** Begins beside somebody at work. */
async function standby({ daemon }: Stage): Promise<void> {
  daemon.begin();
  while (daemon.state.standby === null) await new Promise(setImmediate);
}

/** Another process that holds the lease, and renews it until it is told to let go. */
function somebodyAtWork(world: World): () => void {
  const leaving = new AbortController();
  const ports = atWork(world);
  const settings = { ...syncSettings().lease, holder: "another" };
  void withLease(ports, settings, leaving.signal, () => ports.clock.sleep(DAY, leaving.signal));
  onTestFinished(() => leaving.abort());
  return () => leaving.abort();
}

/** What another process has of this world. */
const atWork = (world: World) => ({
  ...world.ports(new Instance(), new VirtualClock(world.time)),
  observe: () => {},
});
