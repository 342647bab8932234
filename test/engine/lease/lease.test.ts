import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../../fakes/world.ts";
import { CALL, code, Room, roomOf, TTL } from "./lease-room.ts";

describe("a free lease", () => {
  it("is held until the body ends, then released", async () => {
    const { time, enter, state } = roomOf();
    await enter("first").hold(async (lease) => {
      for (let n = 0; n < 20; n++) {
        await time.sleep(TTL / 2);
        lease.assertHeld();
      }
    });
    expect(time.elapsed).toBe(10 * TTL);
    expect(state.lease?.expiresAt.getTime()).toBeLessThanOrEqual(time.now().getTime());
    expect(await enter("second").hold(async ({ epoch }) => epoch)).toBe("2");
    expect(time.elapsed).toBe(10 * TTL);
  });

  it("is released if the body fails", async () => {
    const { time, enter } = roomOf();
    await expect(enter("first").hold(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await enter("second").hold(async () => "in")).toBe("in");
    expect(time.elapsed).toBe(0);
  });
});

describe("a call of a holder that died with the lease", () => {
  const DEAD = { lease: { ...syncSettings().lease, isDead: async () => true } };
  /** A rotation whose process dies while its POST is on its way, which arrives after so long. */
  const aRotationCutShort = async (arrivesAfterMs: number) => {
    const world = await aSyncedWorld(["a"]);
    world.store.sharesLedger = true;
    world.network = ({ operation }) => world.time.sleep(operation === "POST" ? arrivesAfterMs : 0);
    const { instance, report } = world.startRotation({ kind: "all" });
    await world.time.sleep(1);
    instance.kill();
    expect(await report).toBe("died");
    return world;
  };

  it("is asked about only once the service must have finished it", async () => {
    const world = await aRotationCutShort(CALL - 1_000);
    const { events, report } = world.start({ settings: DEAD });
    expect(await report).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.service.requests.map(({ operation }) => operation)).toEqual(["POST", "GET", "POST"]);
    expect(events.filter(({ kind }) => kind === "waiting")).toEqual([
      expect.objectContaining({ ms: CALL, reason: expect.stringContaining("cut short") }),
    ]);
  });

  it("keeps no other work waiting", async () => {
    const world = new World(tenants("a"));
    const { instance, report } = world.start({ diesAt: 3 });
    expect(await report).toBe("died");
    expect(instance.history("after acquireLease")).toHaveLength(1);
    const before = world.time.elapsed;
    expect(await world.sync({ settings: DEAD })).toMatchObject({ outcome: "ok" });
    expect(world.time.elapsed).toBe(before);
  });

  it("is over if the lease ran out as long ago as a call takes", async () => {
    const world = await aRotationCutShort(2);
    await world.time.sleep(45_000 + CALL);
    world.network = async () => {};
    const before = world.time.elapsed;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.time.elapsed).toBe(before);
  });

  it("is over if the lease was released", async () => {
    const world = new World(tenants("a"));
    await world.sync({
      at: ({ when, call }) => {
        if (when === "after" && call === "getOrCreate") throw new ServiceFailure("TIMEOUT", "no answer");
      },
    });
    expect(world.ledger.rows.get("a")?.intent).toEqual(expect.any(String));
    const before = world.time.elapsed;
    expect(await world.sync({ only: new Set(["a"]) })).toMatchObject({ outcome: "ok" });
    expect(world.time.elapsed).toBe(before);
  });
});

describe("a held lease is lost", () => {
  const lossOf = (room: Room, during: (clock: VirtualClock) => Promise<void>) => {
    const { clock, hold } = room.enter("first");
    return code(
      hold(async (lease) => {
        await during(clock);
        lease.assertHeld();
        return "still held";
      }),
    );
  };

  it("when another instance has taken it", async () => {
    const room = new Room();
    const lost = lossOf(room, async () => {
      if (room.state.lease) room.state.lease = { ...room.state.lease, epoch: 9 };
      await room.time.sleep(TTL / 6 + 1);
    });
    expect(await lost).toBe("LEASE_LOST");
  });

  it("when the ledger is unavailable for the length of the lease", async () => {
    const room = new Room();
    const lost = lossOf(room, async () => {
      room.outage = true;
      await room.time.sleep(10 * TTL);
    });
    expect(await lost).toBe("LEASE_LOST");
    expect(room.time.elapsed).toBeLessThanOrEqual(TTL);
  });

  it("for a call that would outlast it", async () => {
    const room = new Room();
    const lost = lossOf(room, async () => {
      room.outage = true;
      await room.time.sleep(TTL - CALL);
    });
    expect(await lost).toBe("LEASE_LOST");
  });

  it("by the time when its renewal was asked for, however late the answer came", async () => {
    const room = new Room();
    room.lateRenewals = TTL / 3;
    const lost = lossOf(room, async () => {
      await room.time.sleep(TTL / 6 + room.lateRenewals);
      room.outage = true;
      await room.time.sleep(TTL / 2);
    });
    expect(await lost).toBe("LEASE_LOST");
  });

  it("when the wall clock runs ahead, as it does after the machine slept", async () => {
    const room = new Room();
    expect(await lossOf(room, async (clock) => clock.jump(TTL))).toBe("LEASE_LOST");
  });

  it("not when the ledger comes back in time", async () => {
    const room = new Room();
    const held = lossOf(room, async () => {
      room.outage = true;
      await room.time.sleep(TTL / 2);
      room.outage = false;
      await room.time.sleep(TTL / 2);
    });
    expect(await held).toBe("still held");
  });

  it("not when the wall clock is set back: the monotonic clock counts then", async () => {
    const back = new Room();
    const held = lossOf(back, async (clock) => {
      clock.jump(-10 * TTL);
      await back.time.sleep(TTL / 12);
    });
    expect(await held).toBe("still held");
    const cut = new Room();
    const lost = lossOf(cut, async (clock) => {
      clock.jump(-10 * TTL);
      cut.outage = true;
      await cut.time.sleep(TTL - CALL);
    });
    expect(await lost).toBe("LEASE_LOST");
  });
});

describe("a task under awaitAlways", () => {
  const LONG = 10 * TTL;

  it("makes the run wait even if the lease is lost", async () => {
    const room = new Room();
    let isDone = false;
    const ended = code(
      room.enter("first").hold(async (lease) => {
        const task = lease.awaitAlways(
          room.time.sleep(LONG).then(() => {
            isDone = true;
          }),
        );
        if (room.state.lease) room.state.lease = { ...room.state.lease, epoch: 9 };
        await task;
      }),
    );
    await room.time.sleep(LONG - 1);
    expect(isDone).toBe(false);
    expect(await ended).toBe("LEASE_LOST");
    expect(isDone).toBe(true);
    expect(room.time.elapsed).toBe(LONG);
  });

  it.each<[string, () => Promise<string>]>([
    ["is over", async () => "over"],
    ["fails", () => Promise.reject(new SyncError("INTERRUPTED", "told to stop"))],
  ])("keeps the lease held until it is done, where all else %s", async (_, end) => {
    const { time, enter, state } = roomOf();
    const ended = code(
      enter("first").hold((lease) => {
        void lease.awaitAlways(time.sleep(LONG));
        return end();
      }),
    );
    await time.sleep(LONG / 2);
    expect(await code(enter("second").hold(async () => "in"))).toBe("LEASE_HELD");
    expect(await ended).toBe(await code(end()));
    expect(state.lease).toMatchObject({ epoch: 1 });
    expect(await enter("third").hold(async ({ epoch }) => epoch)).toBe("2");
  });

  it("is awaited together with the tasks that it starts", async () => {
    const { time, enter } = roomOf();
    await enter("first").hold(async (lease) => {
      void lease.awaitAlways(time.sleep(TTL).then(() => void lease.awaitAlways(time.sleep(TTL))));
    });
    expect(time.elapsed).toBe(2 * TTL);
  });

  it("gives its result or error only to its caller", async () => {
    const { time, enter } = roomOf();
    const refused = async () => {
      await time.sleep(TTL);
      throw new SyncError("LEASE_LOST", "refused");
    };
    let failing: Promise<unknown> | undefined;
    const held = enter("first").hold(async (lease) => {
      expect(await lease.awaitAlways(Promise.resolve("stored"))).toBe("stored");
      failing = code(lease.awaitAlways(refused()));
      return "in";
    });
    expect(await held).toBe("in");
    expect(await failing).toBe("LEASE_LOST");
  });
});

describe("a sync whose lease is lost", () => {
  it("starts no further call and writes nothing", async () => {
    const world = new World(tenants("a", "b", "c", "d", "e", "f"));
    let requestsAtLoss = 0;
    const report = await world.sync({
      settings: { concurrency: 2 },
      at: async ({ when, call, id }) => {
        if (when !== "after" || call !== "getOrCreate" || id !== "c") return;
        const { lease } = world.ledger;
        if (lease) world.ledger.lease = { ...lease, epoch: 99, writesBefore: lease.writes ?? 0 };
        requestsAtLoss = world.service.requests.length;
        await world.time.sleep(60_000);
      },
    });
    expect(report.error?.code).toBe("LEASE_LOST");
    await world.time.sleep(600_000);
    // The call of the other turn was under way, and another call may begin while the ledger refuses the outcome of that one.
    expect(world.service.requests.length).toBeLessThanOrEqual(requestsAtLoss + 2);
    expect(world.ledger.lease?.epoch).toBe(99);
    for (const id of world.service.groups.keys()) expect(world.ledger.rows.has(id)).toBe(true);
  });

  it("sends no call that was about to be sent when the process was suspended", async () => {
    const world = new World(tenants("a", "b"));
    const { clock, report } = world.start({
      settings: { concurrency: 1 },
      at: ({ when, call, id }) => {
        if (when === "before" && call === "getOrCreate" && id === "b") clock.jump(60_000);
      },
    });
    expect(await report).toMatchObject({ error: { code: "LEASE_LOST" } });
    await world.time.sleep(60_000);
    expect(world.service.requests.map(({ id }) => id)).toEqual(["a"]);
  });

  it("writes no token that another instance may have replaced by now", async () => {
    const world = new World(tenants("a"));
    const { clock, report } = world.start({
      at: ({ when, call }) => {
        if (when === "before" && call === "sharedTokens") clock.jump(60_000);
      },
    });
    expect(await report).toMatchObject({ error: { code: "LEASE_LOST" } });
    await world.time.sleep(60_000);
    expect(world.store.tokens.size).toBe(0);
    expect(world.ledger.rows.get("a")?.intent).toBe("apply");
  });

  it("keeps the intent of a call that may have happened", async () => {
    const world = new World(tenants("a"));
    const { clock, report } = world.start({
      at: ({ when, call }) => {
        if (when !== "after" || call !== "getOrCreate") return;
        clock.jump(60_000);
        throw new ServiceFailure("TIMEOUT", "no answer");
      },
    });
    expect(await report).toMatchObject({ error: { code: "LEASE_LOST" } });
    await world.time.sleep(60_000);
    expect(world.service.groups.has("a")).toBe(true);
    expect(world.ledger.rows.get("a")?.intent).toEqual(expect.any(String));
  });
});
