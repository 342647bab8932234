import { describe, expect, it } from "vitest";
import { type ClockReading, msSince } from "../../../src/engine/lease/acquire-lease.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { code, Room, roomOf, TTL } from "./lease-room.ts";

/** The instance that holds the lease has died. */
async function besideTheDead() {
  const room = roomOf();
  const first = room.enter("first");
  void first.hold(() => new Promise(() => {}));
  await room.time.sleep(1);
  first.instance.kill();
  return room;
}

describe("a lease that another instance holds", () => {
  it("is LEASE_HELD once its holder renews it", async () => {
    const { time, enter } = roomOf();
    const first = enter("host-a pid 1").hold(() => time.sleep(10 * TTL));
    await time.sleep(1);
    const refused = enter("second").hold(async () => "in");
    await expect(refused).rejects.toMatchObject({ code: "LEASE_HELD", message: /host-a pid 1/ });
    expect(time.elapsed).toBeLessThan(TTL / 2);
    await first;
  });

  it("stays with a holder that renews it while the waiting instance is suspended", async () => {
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

  it("is taken when it has run out, if its holder has stopped renewing it", async () => {
    const { time, enter } = await besideTheDead();
    const second = await enter("second").hold(async (lease) => {
      lease.assertHeld();
      return lease.epoch;
    });
    expect(second).toBe("2");
    expect(time.elapsed).toBeGreaterThanOrEqual(TTL);
    expect(time.elapsed).toBeLessThan(2 * TTL);
  });

  it("is taken at once from a holder that is known to be dead", async () => {
    const { time, enter } = await besideTheDead();
    const isDead = async (holder: string) => holder === "first";
    expect(await enter("second", { isDead }).hold(async ({ epoch }) => epoch)).toBe("2");
    expect(time.elapsed).toBe(1);
  });

  it("is not waited for any more once the run is told to stop", async () => {
    const { time, enter } = await besideTheDead();
    const stopping = new AbortController();
    const waiting = code(enter("second", {}, stopping.signal).hold(async () => "in"));
    await time.sleep(10);
    stopping.abort();
    expect(await waiting).toBe("INTERRUPTED");
    expect(time.elapsed).toBeLessThan(TTL / 6);
  });

  it("never has two holders, however many instances want it", async () => {
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

describe("a lease that nobody renews", () => {
  const HOLDER = "host-a pid 1";
  /** The lease of a dead holder, after the database's clock was set back by a year. */
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

  it("is waited for as long as a lease lasts, and stays with its holder, whatever its date says", async () => {
    const room = new Room();
    const { expiresAt } = aLeaseOfNextYear(room);
    const { hold, events } = room.enter("second");
    const stopped = `${HOLDER} has the lease until ${expiresAt.toISOString()}, and has stopped renewing it`;
    await expect(hold(async () => "in")).rejects.toMatchObject({
      code: "LEASE_HELD",
      message: stopped,
      hint: expect.stringContaining("end that process"),
    });
    expect(room.time.elapsed).toBeGreaterThanOrEqual(TTL);
    expect(room.time.elapsed).toBeLessThan(TTL + 60_000 + TTL);
    expect(events).toEqual([{ kind: "waiting", ms: TTL, reason: stopped }]);
    expect(room.state.lease?.epoch).toBe(4);
  });

  it("belongs to a living holder if its date moves backwards, as when the database's clock is set back", async () => {
    const room = new Room();
    const lease = aLeaseOfNextYear(room);
    const refused = room.enter("second").hold(async () => "in");
    await room.time.sleep(TTL / 12);
    room.state.lease = { ...lease, expiresAt: new Date(room.time.now().getTime() + TTL) };
    expect(await code(refused)).toBe("LEASE_HELD");
    expect(room.time.elapsed).toBeLessThan(TTL);
    expect(room.state.lease.epoch).toBe(4);
  });

  it("is not waited for without end if its row stays locked", async () => {
    const room = new Room();
    aLeaseOfNextYear(room);
    room.state.writers.add({ heardAt: new Date(room.time.now().getTime() + 86_400_000) });
    const refused = room.enter("second").hold(async () => "in");
    await expect(refused).rejects.toMatchObject({
      code: "LEASE_HELD",
      message: expect.stringMatching(`${HOLDER}; held by session 7`),
      hint: expect.stringContaining("end that process"),
    });
    expect(room.time.elapsed).toBeLessThan(TTL + 60_000 + TTL);
  });

  it("is not waited for without end if it is free and its row stays locked", async () => {
    const room = new Room();
    room.state.writers.add({ heardAt: new Date(room.time.now().getTime() + 86_400_000) });
    const refused = room.enter("second").hold(async () => "in");
    await expect(refused).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
      message: expect.stringContaining("held by session 7"),
    });
    expect(room.time.elapsed).toBeLessThan(TTL + 60_000 + TTL);
  });

  it("is taken as soon as its row is unlocked", async () => {
    const room = new Room();
    const writer = { heardAt: new Date(room.time.now().getTime() + 86_400_000) };
    room.state.writers.add(writer);
    const entered = room.enter("second").hold(async () => "in");
    await room.time.sleep(20_000);
    room.state.writers.delete(writer);
    expect(await entered).toBe("in");
    expect(room.time.elapsed).toBeLessThan(30_000);
  });
});

const at = ({ monotonic, wall }: ClockReading): Clock => ({
  monotonic: () => monotonic,
  now: () => new Date(wall),
  random: () => 0,
  sleep: async () => {},
});
const then: ClockReading = { monotonic: 1_000, wall: 50_000 };

it.each([
  ["both clocks advance alike", { monotonic: 3_000, wall: 52_000 }, 2_000],
  ["the machine slept and the monotonic clock stopped", { monotonic: 1_500, wall: 90_000 }, 40_000],
  ["the wall clock was set back", { monotonic: 3_000, wall: 10_000 }, 2_000],
])("the clock that advanced further counts: %s", (_, now, ms) => {
  expect(msSince(then, at(now))).toBe(ms);
});
