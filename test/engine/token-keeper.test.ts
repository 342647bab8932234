import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import type { HeldLease } from "../../src/engine/lease.ts";
import { TokenKeeper } from "../../src/engine/token-keeper.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { World } from "../fakes/world.ts";

const TOKEN = { user_group_id: "a", token: new Secret("new") };

/** A keeper whose process stands still once, when a transaction of the ledger has been opened. */
async function aKeeper(
  standStill: (clock: VirtualClock, world: World) => void | Promise<void>,
  assertHeld: HeldLease["assertHeld"] = () => {},
) {
  const world = new World();
  const clock = new VirtualClock(world.time);
  const { ledger, tokens } = world.ports(new Instance(), clock);
  const attempt = await ledger.acquireLease("this", 3_600_000);
  if (attempt.kind === "held") throw new Error("it is nobody's");
  const lease: HeldLease = {
    ...attempt.lease,
    lost: new AbortController().signal,
    assertHeld,
    awaitAlways: (task) => task,
  };
  const seen: string[] = [];
  let pauses = 1;
  const slow: Pick<Ledger, "write"> = {
    write: (held, body) =>
      ledger.write(held, async (transaction) => {
        if (pauses-- > 0) await standStill(clock, world);
        return body(transaction);
      }),
  };
  const keeper = new TokenKeeper({
    ledger: { ...ledger, write: slow.write } as Ledger,
    tokens,
    lease,
    clock,
    signal: new AbortController().signal,
    observe: (event) => seen.push(`${event.kind}: ${world.store.tokens.size} stored`),
  });
  return { keeper, seen, tokens: world.store.tokens };
}

describe("where another instance may have taken over since the transaction was opened,", () => {
  it.each<[string, (clock: VirtualClock, world: World) => void | Promise<void>]>([
    ["for the process stood still", (_, world) => world.time.sleep(40_000)],
    ["for its machine slept, and the monotonic clock with it", (clock) => clock.jump(40_000)],
  ])("no token is written %s", async (_, standStill) => {
    const { keeper, seen, tokens } = await aKeeper(standStill);
    await keeper.store(TOKEN, async () => {});
    expect(seen).toEqual(["unstored: 0 stored"]);
    expect(tokens.get("a")).toBe("new");
  });

  it("none is written to prove the store either: it may be dead by now", async () => {
    const lost = (): never => {
      throw new SyncError("LEASE_LOST", "it was not renewed in time");
    };
    const { keeper, tokens } = await aKeeper(() => {}, lost);
    await expect(keeper.prove(TOKEN)).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect(tokens.size).toBe(0);
  });
});
