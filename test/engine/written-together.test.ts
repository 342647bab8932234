import { expect, test } from "vitest";
import { SeveralStores } from "../../src/adapters/token-stores/several.ts";
import type { SyncPorts } from "../../src/engine/sync.ts";
import type { Instance } from "../fakes/instance.ts";
import { InMemoryTokenStore, TokenState } from "../fakes/token-store.ts";
import type { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";

/** Notes how many tokens come with each write. */
class CountingWorld extends World {
  readonly second = new TokenState();
  readonly counts: number[] = [];

  override ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
    const ports = super.ports(instance, clock);
    const second = new InMemoryTokenStore(this.second, instance.step);
    const write = second.write.bind(second);
    second.write = (tokens, ...rest) => {
      this.counts.push(tokens.length);
      return write(tokens, ...rest);
    };
    return { ...ports, tokens: new SeveralStores([ports.tokens, second], []) };
  }
}

const MANY = tenants(...Array.from({ length: 500 }, (_, n) => `t-${n}`));
const IN_A_HURRY = { settings: syncSettings({ concurrency: 100 }) };

test("few tokens are written in one transaction, however many are ready: a store may take one at a time", async () => {
  const world = new CountingWorld(MANY);
  expect(await world.sync(IN_A_HURRY)).toMatchObject({ outcome: "ok", counts: { created: 500 } });
  world.second.tokens.clear();
  expect(await world.sync({ ...IN_A_HURRY, verifyTokens: true })).toMatchObject({
    outcome: "ok",
    counts: { restored: 500 },
  });
  expect(world.counts.reduce((sum, count) => sum + count)).toBe(1_000);
  expect(Math.max(...world.counts)).toBeLessThanOrEqual(64);
  expect(world.second.tokens).toEqual(world.service.tokens);
});
