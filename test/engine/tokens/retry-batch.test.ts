import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { SyncPorts } from "../../../src/engine/sync.ts";
import type { Instance } from "../../fakes/instance.ts";
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

  test("gets smaller batches, and no call to the service is repeated", async () => {
    const world = aSlowStore(10);
    expect(await world.sync(WITH_100_CALLS)).toMatchObject({
      outcome: "ok",
      counts: { created: 200 },
      requests: 200,
    });
    expect(Math.max(...world.batches)).toBeGreaterThan(10);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("gets smaller batches if it is too busy, and what the run learned about the service is recorded", async () => {
    const world = aSlowStore(10);
    world.code = "TOKEN_STORE_BUSY";
    expect(await world.sync(WITH_100_CALLS)).toMatchObject({
      outcome: "ok",
      counts: { created: 200 },
      requests: 200,
    });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.service).toMatchObject({ teamId: expect.any(Number) });
  });

  test("ends the run if it is too slow for one token", async () => {
    const report = await aSlowStore(0).sync(WITH_100_CALLS);
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TOKEN_STORE_SLOW" } });
  });
});
