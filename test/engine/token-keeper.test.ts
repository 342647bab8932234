import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import type { HeldLease } from "../../src/engine/lease.ts";
import { RecentCommits } from "../../src/engine/recent-commits.ts";
import { TokenKeeper } from "../../src/engine/token-keeper.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { World } from "../fakes/world.ts";

const TOKEN = { user_group_id: "a", token: new Secret("new") };

/** A keeper whose process stands still once, when a transaction of the ledger has been opened. */
async function aKeeper(
  standStill: (world: World) => void | Promise<void>,
  assertHeld: HeldLease["assertHeld"] = () => {},
) {
  const world = new World();
  const clock = new VirtualClock(world.time);
  const { ledger, tokens } = world.ports(new Instance(), clock);
  const attempt = await ledger.acquireLease("this", 3_600_000);
  if (attempt.kind !== "acquired") throw new Error("it is nobody's");
  const lease: HeldLease = {
    ...attempt.lease,
    lost: new AbortController().signal,
    assertHeld,
    awaitAlways: (task) => task,
    formerCallsEnded: async () => {},
  };
  const seen: string[] = [];
  let pauses = 1;
  const slow: Pick<Ledger, "write"> = {
    write: (held, body) =>
      ledger.write(held, async (transaction) => {
        if (pauses-- > 0) await standStill(world);
        return body(transaction);
      }),
  };
  const keeper = new TokenKeeper({
    ledger: { sharedTokens: async () => new Set(), write: slow.write } as Partial<Ledger> as Ledger,
    tokens,
    lease,
    clock,
    signal: new AbortController().signal,
    recent: new RecentCommits(clock),
    observe: (event) => seen.push(`${event.kind}: ${world.store.tokens.size} stored`),
  });
  return { keeper, seen, tokens: world.store.tokens };
}

describe("where another instance may have taken over since the transaction was opened,", () => {
  it("no token is written", async () => {
    const { keeper, seen, tokens } = await aKeeper((world) => world.time.sleep(20_000));
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
