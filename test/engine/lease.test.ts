import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import { type HeldLease, withLease } from "../../src/engine/lease.ts";
import type { LeaseSettings } from "../../src/engine/lease-acquisition.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import { Instance } from "../fakes/instance.ts";
import { InMemoryLedger } from "../fakes/ledger.ts";
import { LedgerState } from "../fakes/ledger-state.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";

const TTL = 45_000;
const CALL = 15_000;

class Room {
  readonly time = new VirtualTime();
  readonly state = new LedgerState();
  /** While it is set, nobody reaches the ledger. */
  outage = false;
  /** Holders that don't reach the ledger. */
  readonly cutOff = new Set<string>();
  /** Holders that stand still once with the first answer about the lease, for so long. */
  readonly late = new Map<string, number>();

  enter(holder: string, settings: Partial<LeaseSettings> = {}, signal = new AbortController().signal) {
    const clock = new VirtualClock(this.time);
    const instance = new Instance({
      at: ({ when, call }) => {
        if (this.outage || this.cutOff.has(holder)) throw new SyncError("LEDGER_UNAVAILABLE", "no route");
        const ms = when === "after" && call === "acquireLease" ? this.late.get(holder) : undefined;
        if (ms === undefined) return;
        this.late.delete(holder);
        return this.time.sleep(ms);
      },
    });
    const ledger = new InMemoryLedger(this.state, instance.step, () => this.time.now());
    const all = { holder, ttlMs: TTL, callMs: CALL, isDead: async () => false, ...settings };
    const events: RunEvent[] = [];
    const ports = { ledger, clock, observe: (event: RunEvent) => events.push(event) };
    const hold = <T>(body: (lease: HeldLease) => Promise<T>): Promise<T | "died"> =>
      Promise.race([withLease(ports, all, signal, body), instance.died]);
    return { clock, instance, hold, events };
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

  it("is left to a holder who renews it while the one who waits stands still", async () => {
    const { time, enter, late } = roomOf();
    const first = enter("first").hold(async (lease) => {
      await time.sleep(5 * TTL);
      lease.assertHeld();
      return lease.epoch;
    });
    await time.sleep(1);
    late.set("second", 3 * TTL);
    expect(await code(enter("second").hold(async () => "in"))).toBe("LEASE_HELD");
    expect(await first).toBe("1");
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

describe("a lease that nobody moves", () => {
  const HOLDER = "host-a pid 1";
  /** As a holder leaves it behind whose database's clock is then set back by a year. */
  const aLeaseOfNextYear = (room: Room) => {
    const acquiredAt = new Date(room.time.now().getTime() + 365 * 86_400_000);
    room.state.lease = {
      epoch: 4,
      holder: HOLDER,
      acquiredAt,
      expiresAt: new Date(acquiredAt.getTime() + TTL),
    };
    return room.state.lease;
  };

  it("is taken over, whatever its date says, by one who has said whom it waits for and until when", async () => {
    const room = new Room();
    const { expiresAt } = aLeaseOfNextYear(room);
    const { hold, events } = room.enter("second");
    expect(await hold(async ({ epoch }) => epoch)).toBe("5");
    expect(room.time.elapsed).toBeGreaterThanOrEqual(2 * TTL);
    expect(room.time.elapsed).toBeLessThan(3 * TTL);
    expect(events).toEqual([
      {
        kind: "waiting",
        ms: expect.any(Number),
        reason: `${HOLDER} has the lease until ${expiresAt.toISOString()}, and has stopped renewing it`,
      },
      {
        kind: "warning",
        code: "LEASE_TAKEN_OVER",
        message: expect.stringMatching(`${HOLDER}.* for 90 seconds`),
        hint: expect.stringContaining("clock of the ledger's database"),
      },
    ]);
  });

  it("is another's at work where it moves backwards, as it does when the database's clock is set back", async () => {
    const room = new Room();
    const lease = aLeaseOfNextYear(room);
    const refused = room.enter("second").hold(async () => "in");
    await room.time.sleep(TTL / 12);
    room.state.lease = { ...lease, expiresAt: new Date(room.time.now().getTime() + TTL) };
    expect(await code(refused)).toBe("LEASE_HELD");
    expect(room.time.elapsed).toBeLessThan(TTL);
    expect(room.state.lease.epoch).toBe(4);
  });

  it("is not waited for without end where its row stays locked", async () => {
    const room = new Room();
    aLeaseOfNextYear(room);
    room.state.writers.add({ heardAt: new Date(room.time.now().getTime() + 86_400_000) });
    const refused = room.enter("second").hold(async () => "in");
    await expect(refused).rejects.toMatchObject({
      code: "LEASE_HELD",
      message: expect.stringMatching(`${HOLDER}; held by session 7`),
      hint: expect.stringContaining("end that process"),
    });
    expect(room.time.elapsed).toBeLessThan(2 * TTL + 60_000 + TTL);
  });

  it("is not waited for without end either where nobody has it", async () => {
    const room = new Room();
    room.state.writers.add({ heardAt: new Date(room.time.now().getTime() + 86_400_000) });
    const refused = room.enter("second").hold(async () => "in");
    await expect(refused).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
      message: expect.stringContaining("held by session 7"),
    });
    expect(room.time.elapsed).toBeGreaterThanOrEqual(30_000);
    expect(room.time.elapsed).toBeLessThan(40_000);
  });

  it("is taken as soon as its row is free", async () => {
    const room = new Room();
    const writer = { heardAt: new Date(room.time.now().getTime() + 86_400_000) };
    room.state.writers.add(writer);
    const entered = room.enter("second").hold(async () => "in");
    await room.time.sleep(20_000);
    room.state.writers.delete(writer);
    expect(await entered).toBe("in");
    expect(room.time.elapsed).toBeLessThan(30_000);
  });

  it("is lost by a holder that lives and can't reach the ledger, before anybody takes it over", async () => {
    const room = new Room();
    const lost = code(room.enter("first").hold(() => room.time.sleep(10 * TTL)));
    const lostAt = lost.then(() => room.time.elapsed);
    await room.time.sleep(1);
    room.cutOff.add("first");
    const { epoch } = aLeaseOfNextYear(room);
    expect(await room.enter("second").hold(async (lease) => lease.epoch)).toBe(String(epoch + 1));
    expect(await lost).toBe("LEASE_LOST");
    expect(await lostAt).toBeLessThanOrEqual(TTL);
    expect(room.time.elapsed).toBeGreaterThanOrEqual(2 * TTL);
  });
});

describe("what a holder had sent that never gave the lease back", () => {
  const DEAD = { lease: { ...syncSettings().lease, isDead: async () => true } };
  /** A rotation whose process dies while its POST is on its way, which arrives after so long. */
  const aRotationCutShort = async (arrivesAfterMs: number) => {
    const world = new World(tenants("a"));
    await world.sync();
    world.network = ({ operation }) => world.time.sleep(operation === "POST" ? arrivesAfterMs : 0);
    const { instance, report } = world.startRotation({ kind: "all" });
    await world.time.sleep(1);
    instance.kill();
    expect(await report).toBe("died");
    return world;
  };

  it("is not asked about before the service must be done with it", async () => {
    const world = await aRotationCutShort(CALL - 1_000);
    const { events, report } = world.start({ settings: DEAD });
    expect(await report).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.service.requests.map(({ operation }) => operation)).toEqual(["GET", "POST", "GET"]);
    expect(events.filter(({ kind }) => kind === "waiting")).toEqual([
      expect.objectContaining({ ms: CALL, reason: expect.stringContaining("cut short") }),
    ]);
  });

  it("keeps nothing else waiting", async () => {
    const world = new World(tenants("a"));
    const { instance, report } = world.start({ diesAt: 3 });
    expect(await report).toBe("died");
    expect(instance.history("after acquireLease")).toHaveLength(1);
    const before = world.time.elapsed;
    expect(await world.sync({ settings: DEAD })).toMatchObject({ outcome: "ok" });
    expect(world.time.elapsed).toBe(before);
  });

  it("is over where its lease ran out as long ago as a call takes", async () => {
    const world = await aRotationCutShort(2);
    await world.time.sleep(45_000 + CALL);
    const before = world.time.elapsed;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.time.elapsed).toBe(before);
  });

  it("is over where the lease was given back", async () => {
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

describe("an older groupsync's ledger", () => {
  it("is migrated once the lease is held, before anything is read or written there", async () => {
    const world = new World(tenants("a"));
    const { instance, report } = world.start();
    expect(await report).toMatchObject({ outcome: "ok" });
    const [prepared, ...ledgerCalls] = instance.passed
      .map(({ when, call }) => `${when} ${call}`)
      .filter((point) => !point.endsWith("Tokens"));
    expect(prepared).toBe("before prepareLedger");
    expect(ledgerCalls.slice(0, 4)).toEqual([
      "before acquireLease",
      "after acquireLease",
      "before migrateLedger",
      "after openTransaction",
    ]);
  });

  it("is not migrated while that one holds the lease", async () => {
    const world = new World(tenants("a"));
    const older = world.start({
      settings: { lease: { ...syncSettings().lease, holder: "older" } },
      at: ({ when, call }) =>
        when === "after" && call === "getOrCreate" ? world.time.sleep(60_000) : undefined,
    });
    await world.time.sleep(1);
    const { instance, report } = world.start();
    expect(await report).toMatchObject({ error: { code: "LEASE_HELD" } });
    expect(instance.history("before migrateLedger")).toEqual([]);
    await older.report;
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
  return { time: room.time, state: room.state, late: room.late, enter: room.enter.bind(room) };
}
