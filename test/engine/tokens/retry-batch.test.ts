import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { SyncPorts } from "../../../src/engine/sync.ts";
import type { Instance, Point } from "../../fakes/instance.ts";
import { expectBoth, synced } from "../../fakes/two-stores.ts";
import type { VirtualClock } from "../../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../../fakes/world.ts";

describe("a store that is too slow for many tokens in one transaction", () => {
  /** It takes `takes` tokens at a time. */
  class SlowStore extends World {
    readonly batches: number[] = [];
    takes = 0;
    code = "TOKEN_STORE_SLOW";

    override ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
      const { tokens, ...ports } = super.ports(instance, clock);
      const write = tokens.write.bind(tokens);
      tokens.write = (some, ...rest) => {
        this.batches.push(some.length);
        if (some.length > this.takes) throw new SyncError(this.code, "it can't take so many");
        return write(some, ...rest);
      };
      return { ...ports, tokens };
    }
  }
  const aSlowStore = (takes: number): SlowStore => {
    const world = new SlowStore(tenants(...Array.from({ length: 200 }, (_, n) => `t-${n}`)));
    world.takes = takes;
    return world;
  };
  const WITH_100_CALLS = { settings: syncSettings({ concurrency: 100 }) };

  test.each(["TOKEN_STORE_SLOW", "TOKEN_STORE_BUSY"])(
    "gets smaller batches, no call to the service is repeated, and what the run learned of it is recorded (%s)",
    async (code) => {
      const world = aSlowStore(10);
      world.code = code;
      expect(await world.sync(WITH_100_CALLS)).toMatchObject({
        outcome: "ok",
        counts: { created: 200 },
        requests: 200,
      });
      expect(Math.max(...world.batches)).toBeGreaterThan(10);
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(world.ledger.service).toMatchObject({ teamId: expect.any(Number) });
    },
  );

  test("ends the run if it is too slow for one token", async () => {
    const report = await aSlowStore(0).sync(WITH_100_CALLS);
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_SLOW" } });
  });
});

const MINUTE = 60_000;

const busy = () => new SyncError("TOKEN_STORE_BUSY", "cannot write the secrets: its quota is used up");

/** Each of these calls finds the store busy until this time. */
const busyUntil =
  (world: World, until: number, ...calls: readonly string[]) =>
  ({ when, call }: Point): void => {
    if (when === "before" && calls.includes(call) && world.time.elapsed < until) throw busy();
  };

describe("a store that is busy for longer than a transaction may stay open", () => {
  const MANY = Array.from({ length: 40 }, (_, n) => `t-${n}`);

  test("is waited for when tokens are written", async () => {
    const world = new World(tenants(...MANY));
    const at = busyUntil(world, 2 * MINUTE, "writeTokens");
    const started = world.start({ at });
    expect(await started.report).toMatchObject({ outcome: "ok", counts: { created: 40 }, requests: 40 });
    expect(world.store.tokens).toEqual(world.service.tokens);
    const waits = started.events.filter(({ kind }) => kind === "waiting");
    expect(waits[0]).toMatchObject({ ms: 15_000, reason: expect.stringContaining("quota is used up") });
    expect(waits.length).toBeGreaterThanOrEqual(8);
  });

  test("is waited for when tokens are removed, read, verified and rotated", async () => {
    const world = await synced("a", "b");
    world.second.tokens.clear();
    world.tenants = tenants("b", "c");
    const at = busyUntil(world, world.time.elapsed + MINUTE, "readTokens", "writeTokens", "removeTokens");
    expect(await world.sync({ verifyTokens: true, at })).toMatchObject({
      outcome: "ok",
      counts: { created: 1, deleted: 1, restored: 1 },
    });
    expectBoth(world);
    for (const call of ["readTokens", "writeTokens"]) {
      const again = busyUntil(world, world.time.elapsed + MINUTE, call);
      const rotation = world.startRotation({ kind: "all" }, { at: again });
      expect(await rotation.report).toMatchObject({ outcome: "ok", counts: { rotated: 2 } });
      expectBoth(world);
    }
  });

  test("ends the run after ten minutes, and the next run goes on from there", async () => {
    const world = new World(tenants(...MANY));
    const report = await world.sync({ at: busyUntil(world, 60 * MINUTE, "writeTokens") });
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_BUSY" } });
    expect(world.time.elapsed).toBeGreaterThan(10 * MINUTE);
    expect(world.time.elapsed).toBeLessThan(13 * MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.store.tokens.size).toBe(40);
  });

  test.each(["prepareTokens", "holdsAny"])(
    "at %s ends the run before any call to the service",
    async (call) => {
      const world = new World(tenants("a"));
      const report = await world.sync({ at: busyUntil(world, MINUTE, call) });
      expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_BUSY" }, requests: 0 });
      await world.time.sleep(MINUTE);
      expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1 } });
    },
  );

  test("doesn't keep a run that is told to stop", async () => {
    const world = new World(tenants("a"));
    const stopping = new AbortController();
    const at = busyUntil(world, 60 * MINUTE, "writeTokens");
    const { report } = world.start({ signal: stopping.signal, at });
    await world.time.sleep(20_000);
    stopping.abort();
    expect(await report).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED" } });
    expect(world.time.elapsed).toBe(20_000);
  });
});
