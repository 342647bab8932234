import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import { type HeldLease, type LeaseSettings, withLease } from "../../src/engine/lease.ts";
import { Instance } from "../fakes/instance.ts";
import { InMemoryLedger } from "../fakes/ledger.ts";
import { LedgerState } from "../fakes/ledger-state.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";
import { tenants, World } from "../fakes/world.ts";

const TTL = 45_000;
const CALL = 15_000;

class Room {
  readonly time = new VirtualTime();
  readonly state = new LedgerState();
  /** While it is set, nobody reaches the ledger. */
  outage = false;

  enter(holder: string, settings: Partial<LeaseSettings> = {}, signal = new AbortController().signal) {
    const clock = new VirtualClock(this.time);
    const instance = new Instance({
      at: () => {
        if (this.outage) throw new SyncError("LEDGER_UNAVAILABLE", "no route");
      },
    });
    const ledger = new InMemoryLedger(this.state, instance.step, () => this.time.now());
    const all = { holder, ttlMs: TTL, callMs: CALL, isDead: async () => false, ...settings };
    const hold = <T>(body: (lease: HeldLease) => Promise<T>): Promise<T | "died"> =>
      Promise.race([withLease(ledger, clock, all, signal, body), instance.died]);
    return { clock, instance, hold };
  }
}

const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => value,
    (error: unknown) => (error instanceof SyncError ? error.code : error),
  );

describe("a free lease", () => {
  it("is held as long as the body takes, and given back", async () => {
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

  it("is given back also where the body fails", async () => {
    const { time, enter } = roomOf();
    await expect(enter("first").hold(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await enter("second").hold(async () => "in")).toBe("in");
    expect(time.elapsed).toBe(0);
  });
});

describe("a lease that another one holds", () => {
  it("is LEASE_HELD once its heartbeat moves", async () => {
    const { time, enter } = roomOf();
    const first = enter("host-a pid 1").hold(() => time.sleep(10 * TTL));
    await time.sleep(1);
    const refused = enter("second").hold(async () => "in");
    await expect(refused).rejects.toMatchObject({ code: "LEASE_HELD", message: /host-a pid 1/ });
    expect(time.elapsed).toBeLessThan(TTL / 2);
    await first;
  });

  it("is waited out where its heartbeat stands still, and is as good as new then", async () => {
    const { time, enter } = roomOf();
    const first = enter("first");
    void first.hold(() => new Promise(() => {}));
    await time.sleep(1);
    first.instance.kill();
    const second = await enter("second").hold(async (lease) => {
      lease.assertHeld();
      return lease.epoch;
    });
    expect(second).toBe("2");
    expect(time.elapsed).toBeGreaterThanOrEqual(TTL);
    expect(time.elapsed).toBeLessThan(2 * TTL);
  });

  it("is seized at once from a holder that is known to be dead", async () => {
    const { time, enter } = roomOf();
    const first = enter("first");
    void first.hold(() => new Promise(() => {}));
    await time.sleep(1);
    first.instance.kill();
    const isDead = async (holder: string) => holder === "first";
    expect(await enter("second", { isDead }).hold(async ({ epoch }) => epoch)).toBe("2");
    expect(time.elapsed).toBe(1);
  });

  it("is no longer waited for once the run is told to stop", async () => {
    const { time, enter } = roomOf();
    const first = enter("first");
    void first.hold(() => new Promise(() => {}));
    await time.sleep(1);
    first.instance.kill();
    const stopping = new AbortController();
    const waiting = code(enter("second", {}, stopping.signal).hold(async () => "in"));
    await time.sleep(10);
    stopping.abort();
    expect(await waiting).toBe("INTERRUPTED");
    expect(time.elapsed).toBeLessThan(TTL / 6);
  });

  it("never has two holders, however many want it", async () => {
    const { time, enter } = roomOf();
    let inside = 0;
    const results = await Promise.all(
      ["a", "b", "c", "d"].map((holder) =>
        code(
          enter(holder).hold(async (lease) => {
            expect(++inside).toBe(1);
            await time.sleep(TTL * 2);
            lease.assertHeld();
            inside--;
            return "in";
          }),
        ),
      ),
    );
    expect(results.sort()).toEqual(["LEASE_HELD", "LEASE_HELD", "LEASE_HELD", "in"]);
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

  it("when the ledger is away for as long as it is valid", async () => {
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

  it("when the wall clock runs ahead, as it does after the machine slept", async () => {
    const room = new Room();
    expect(await lossOf(room, async (clock) => clock.jump(TTL))).toBe("LEASE_LOST");
  });

  it("not when the ledger is back in time", async () => {
    const room = new Room();
    const held = lossOf(room, async () => {
      room.outage = true;
      await room.time.sleep(TTL / 2);
      room.outage = false;
      await room.time.sleep(TTL / 2);
    });
    expect(await held).toBe("still held");
  });

  it("not when the wall clock is set back, nor then later than by the other clock", async () => {
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

describe("a task that is awaited always", () => {
  const LONG = 10 * TTL;

  it("has its holder wait for it where the lease is lost", async () => {
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

  it("is awaited together with those that come of it", async () => {
    const { time, enter } = roomOf();
    await enter("first").hold(async (lease) => {
      void lease.awaitAlways(time.sleep(TTL).then(() => void lease.awaitAlways(time.sleep(TTL))));
    });
    expect(time.elapsed).toBe(2 * TTL);
  });

  it("gives its result or its error to the one who asked, and to nobody else", async () => {
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
  it("starts no call afterwards, and writes nothing", async () => {
    const world = new World(tenants("a", "b", "c", "d", "e", "f"));
    let requestsAtLoss = 0;
    const report = await world.sync({
      settings: { concurrency: 2 },
      at: async ({ when, call, id }) => {
        if (when !== "after" || call !== "getOrCreate" || id !== "c") return;
        if (world.ledger.lease) world.ledger.lease = { ...world.ledger.lease, epoch: 99 };
        requestsAtLoss = world.service.requests.length;
        await world.time.sleep(60_000);
      },
    });
    expect(report.error?.code).toBe("LEASE_LOST");
    await world.time.sleep(600_000);
    // The one other call that was under way may have been sent.
    expect(world.service.requests.length).toBeLessThanOrEqual(requestsAtLoss + 1);
    expect(world.ledger.lease?.epoch).toBe(99);
    for (const id of world.service.groups.keys()) expect(world.ledger.rows.has(id)).toBe(true);
  });

  it("sends nothing that was on its way when the process was stopped", async () => {
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

  it("writes no token elsewhere that another instance may have replaced by now", async () => {
    const world = new World(tenants("a"));
    const { clock, report } = world.start({
      at: ({ when, call }) => {
        if (when === "before" && call === "bindService") clock.jump(60_000);
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

function roomOf() {
  const room = new Room();
  return { time: room.time, state: room.state, enter: room.enter.bind(room) };
}
