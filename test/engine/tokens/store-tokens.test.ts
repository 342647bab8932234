import { describe, expect, test } from "vitest";
import { compositeTokenStore } from "../../../src/adapters/token-stores/composite-token-store.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { SyncPorts } from "../../../src/engine/sync.ts";
import { storeInTables, storeOutside } from "../../../src/engine/tokens/store-tokens.ts";
import { rejection } from "../../contracts/collect.ts";
import { someTokens } from "../../contracts/token-store.ts";
import { Instance } from "../../fakes/instance.ts";
import { someTransaction } from "../../fakes/ledger/ledger-transaction.ts";
import { InMemoryTokenStore, TokenState } from "../../fakes/token-store.ts";
import { synced } from "../../fakes/two-stores.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../../fakes/world.ts";

const signal = new AbortController().signal;
const LIVE = someTokens({ a: "token-a", b: "token-b" });

test("a token that one store has and a table lacks is not everywhere", async () => {
  const world = await synced("a", "b");
  world.second.sharesLedger = true;
  world.second.refused.add("b");
  const { tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const run = { tokens, lease: { assertHeld: () => {} }, signal };
  const outside = await storeOutside(LIVE, run);
  expect(outside).toEqual(new Map());
  const refused = await storeInTables(LIVE, outside, someTransaction(), run);
  expect([...refused]).toEqual([["b", expect.objectContaining({ code: "TOKEN_NOT_EVERYWHERE" })]]);
});

test("nothing is put into a store once the lease may be lost", async () => {
  const world = new World();
  const { tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const assertHeld = (): never => {
    throw new SyncError("LEASE_LOST", "it was not renewed in time");
  };
  const put = storeOutside(LIVE, { tokens, lease: { assertHeld }, signal });
  expect(await rejection(put)).toMatchObject({ code: "LEASE_LOST" });
  expect(world.store.tokens.size).toBe(0);
});

describe("a token that a process has sent before it died", () => {
  /** The store takes the next new token so much later, and its sender dies meanwhile. */
  class LateStore extends World {
    lateMs: number | undefined;
    /** A second store, if there is one. */
    second: TokenState | undefined;

    override ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
      const ports = super.ports(instance, clock);
      const tokens = new InMemoryTokenStore(this.store, instance.step, ports.ledger);
      const put = tokens.put.bind(tokens);
      tokens.put = (token, options) => {
        if (this.lateMs === undefined || options?.rewrite) return put(token, options);
        const arrive = () => this.store.tokens.set(token.user_group_id, token.token.reveal());
        void this.time.sleep(this.lateMs).then(arrive);
        this.lateMs = undefined;
        instance.kill();
        return new Promise(() => {});
      };
      if (!this.second) return { ...ports, tokens };
      const second = new InMemoryTokenStore(this.second, instance.step);
      return { ...ports, tokens: compositeTokenStore([tokens, second]) };
    }
  }
  const settings = syncSettings({ lease: { ...syncSettings().lease, isDead: async () => true } });

  test.each([
    ["rotated", 40_000],
    ["created", 40_000],
    ["rotated", 5_000],
  ])("and that a store takes after a takeover, doesn't stay: %s, after %i ms", async (what, lateMs) => {
    const world = new LateStore(tenants("a"));
    if (what === "rotated") await world.sync();
    world.lateMs = lateMs;
    const first = what === "rotated" ? world.startRotation({ kind: "all" }) : world.start();
    expect(await first.report).toBe("died");
    const rotation = { ...syncSettings().rotation, maxAgeMs: 1 };
    expect(await world.sync({ settings: { ...settings, rotation } })).toMatchObject({ outcome: "ok" });
    await world.time.sleep(60_000);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test.each([
    ["ahead", 20_000],
    ["back", -86_400_000],
  ])("is looked for at the right time although the clock is set %s meanwhile", async (_, ms) => {
    const world = new LateStore(tenants("a"));
    await world.sync();
    world.lateMs = 50_000;
    expect(await world.startRotation({ kind: "all" }).report).toBe("died");
    const { clock, report } = world.start({ settings });
    await world.time.sleep(1_000);
    clock.jump(ms);
    await world.time.sleep(60_000);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await report).toMatchObject({ counts: { restored: 1, failed: 0 } });
  });

  test("is looked for even if another store refuses the token of the takeover", async () => {
    const world = new LateStore(tenants("a"));
    world.second = new TokenState();
    await world.sync();
    world.tenants = [{ id: "a", name: "another name" }];
    world.lateMs = 40_000;
    expect(await world.start({ settings: { update: "replace" } }).report).toBe("died");
    world.second.refused.add("a");
    const report = await world.sync({ settings: { ...settings, update: "replace" } });
    expect(report.errors).toMatchObject([{ code: "TOKEN_NOT_EVERYWHERE" }]);
    await world.time.sleep(60_000);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("is looked at by the next sync if this one is told to stop", async () => {
    const world = new LateStore(tenants("a"));
    await world.sync();
    world.lateMs = 50_000;
    expect(await world.startRotation({ kind: "all" }).report).toBe("died");
    const stopping = new AbortController();
    const { report } = world.start({ settings, signal: stopping.signal });
    await world.time.sleep(30_000);
    stopping.abort();
    expect(await report).toMatchObject({ error: { code: "INTERRUPTED" } });
    await world.time.sleep(30_000);
    expect(world.store.tokens).not.toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});
