import { describe, expect, test } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import type { SyncPorts } from "../../src/engine/sync.ts";
import type { Instance, Point } from "../fakes/instance.ts";
import { expectBoth, synced, TwoStores } from "../fakes/two-stores.ts";
import type { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";

const MINUTE = 60_000;
const busy = () => new SyncError("TOKEN_STORE_BUSY", "cannot write the secrets: its quota is used up");

/** Until then, each of these calls finds the store busy. */
const busyUntil =
  (world: World, until: number, ...calls: readonly string[]) =>
  ({ when, call }: Point): void => {
    if (when === "before" && calls.includes(call) && world.time.elapsed < until) throw busy();
  };

describe("a store that asks for more patience than a transaction can have", () => {
  const MANY = Array.from({ length: 40 }, (_, n) => `t-${n}`);

  test.each(["prepareTokens", "holdsAny", "writeTokens"])("is waited for at %s", async (call) => {
    const world = new World(tenants(...MANY));
    const at = busyUntil(world, 2 * MINUTE, call);
    const started = world.start({ at });
    expect(await started.report).toMatchObject({ outcome: "ok", counts: { created: 40 }, requests: 40 });
    expect(world.store.tokens).toEqual(world.service.tokens);
    const waits = started.events.filter(({ kind }) => kind === "waiting");
    expect(waits[0]).toMatchObject({ ms: 15_000, reason: expect.stringContaining("quota is used up") });
    expect(waits.length).toBeGreaterThanOrEqual(8);
  });

  test("is waited for where tokens are removed, read, verified and rotated", async () => {
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

  test("ends the run after ten minutes; the next one goes on from there", async () => {
    const world = new World(tenants(...MANY));
    const report = await world.sync({ at: busyUntil(world, 60 * MINUTE, "writeTokens") });
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_BUSY" } });
    expect(world.time.elapsed).toBeGreaterThan(10 * MINUTE);
    expect(world.time.elapsed).toBeLessThan(13 * MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.store.tokens.size).toBe(40);
  });

  test.each(["prepareTokens", "writeTokens"])(
    "at %s doesn't keep a run that is told to stop",
    async (call) => {
      const world = new World(tenants("a"));
      const stopping = new AbortController();
      const { report } = world.start({ signal: stopping.signal, at: busyUntil(world, 60 * MINUTE, call) });
      await world.time.sleep(20_000);
      stopping.abort();
      expect(await report).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED" } });
      expect(world.time.elapsed).toBe(20_000);
    },
  );
});

describe("a store that is too slow for many tokens in one transaction", () => {
  /** It takes so many at a time. */
  class SlowStore extends World {
    readonly portions: number[] = [];
    takes = 0;
    code = "TOKEN_STORE_SLOW";

    override ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
      const { tokens, ...ports } = super.ports(instance, clock);
      const write = tokens.write.bind(tokens);
      tokens.write = (some, ...rest) => {
        this.portions.push(some.length);
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
  const IN_A_HURRY = { settings: syncSettings({ concurrency: 100 }) };

  test("is given them in smaller portions, and no call to the service is made again", async () => {
    const world = aSlowStore(10);
    expect(await world.sync(IN_A_HURRY)).toMatchObject({
      outcome: "ok",
      counts: { created: 200 },
      requests: 200,
    });
    expect(Math.max(...world.portions)).toBeGreaterThan(10);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("is given them likewise where it is too busy for many, and what the service is like is recorded all the same", async () => {
    const world = aSlowStore(10);
    world.code = "TOKEN_STORE_BUSY";
    expect(await world.sync(IN_A_HURRY)).toMatchObject({
      outcome: "ok",
      counts: { created: 200 },
      requests: 200,
    });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.service).toMatchObject({ teamId: expect.any(Number) });
  });

  test("ends the run where it is too slow for one", async () => {
    const report = await aSlowStore(0).sync(IN_A_HURRY);
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_SLOW" } });
  });
});

describe("a store that is away when a token was rotated", () => {
  test.each(["TOKEN_STORE_UNAVAILABLE", "TOKEN_STORE_BUSY"])(
    "keeps no other from taking the new one: %s",
    async (code) => {
      const world = await synced("a");
      let isAway = false;
      const at = ({ when, call, store }: Point): void => {
        if (call === "rotate") isAway = true;
        if (isAway && when === "before" && call === "writeTokens" && store === 1)
          throw new SyncError(code, "cannot write Vault: it is sealed");
      };
      const { report, events } = world.startRotation({ kind: "all" }, { at });
      await world.time.sleep(MINUTE);
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(world.second.tokens).not.toEqual(world.service.tokens);
      expect(events).toContainEqual(
        expect.objectContaining({ kind: "unstored", code: "TOKEN_NOT_EVERYWHERE" }),
      );
      isAway = false;
      expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
      expectBoth(world);
    },
  );

  test("keeps a table in the ledger's database waiting for nothing, however long it takes to fail", async () => {
    const world = await synced("a");
    world.store.sharesLedger = true;
    let rotatedAt: number | undefined;
    const at = async ({ when, call, store }: Point): Promise<void> => {
      if (call === "rotate") rotatedAt = world.time.elapsed;
      if (rotatedAt === undefined || when !== "before" || call !== "writeTokens" || store !== 1) return;
      if (world.time.elapsed - rotatedAt > MINUTE) return;
      await world.time.sleep(25_000);
      throw new SyncError("TOKEN_STORE_UNAVAILABLE", "cannot write Vault: no answer");
    };
    const { report } = world.startRotation({ kind: "all" }, { at });
    await world.time.sleep(1_000);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
    expectBoth(world);
  });

  test("ends a sync that finds it away in the middle: what is new has its token in all of them, or is asked for again", async () => {
    const world = new TwoStores(tenants("a", "b"));
    const at = ({ when, call, store }: Point): void => {
      if (when === "before" && call === "writeTokens" && store === 1)
        throw new SyncError("TOKEN_STORE_UNAVAILABLE", "cannot write Vault: it is sealed");
    };
    expect(await world.sync({ at })).toMatchObject({
      outcome: "failed",
      error: { code: "TOKEN_STORE_UNAVAILABLE" },
    });
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectBoth(world);
  });
});
