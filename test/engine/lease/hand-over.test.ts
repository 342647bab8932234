import { describe, expect, it } from "vitest";
import type { HeldLease } from "../../../src/engine/lease/lease.ts";
import { CALL, code, Room, TTL } from "./lease-room.ts";

const SECOND = 1_000;

/** Ends as a run does: when somebody asks for the lease, and its last call has come back. */
const untilWanted =
  (room: Room, callMs = CALL) =>
  async ({ wanted }: HeldLease): Promise<string> => {
    while (!wanted.aborted) await room.time.sleep(10 * TTL, wanted);
    await room.time.sleep(callMs);
    return wanted.reason.code;
  };

/** A daemon that has the lease, and goes on until somebody wants it. */
async function aDaemonAtWork(room: Room, callMs = CALL) {
  const daemon = room.enter("daemon", { handsOver: true });
  const ended = daemon.hold(untilWanted(room, callMs));
  await room.time.sleep(1);
  return { ...daemon, ended };
}

describe("a lease that its holder hands over", () => {
  it("goes to a command that asks for it once the holder's calls have ended, although the holder renews it until then", async () => {
    const room = new Room();
    const { ended } = await aDaemonAtWork(room);
    const { hold, events } = room.enter("command");
    const epoch = await hold(async (lease) => lease.epoch);
    expect(epoch).toBe("2");
    expect(room.time.elapsed).toBeGreaterThanOrEqual(CALL);
    expect(room.time.elapsed).toBeLessThanOrEqual(CALL + 2 * SECOND);
    expect(await ended).toBe("LEASE_HANDED_OVER");
    expect(events).toEqual([
      { kind: "waiting", ms: expect.any(Number), reason: expect.stringMatching("daemon has the lease") },
    ]);
    expect(room.state.requests.size).toBe(0);
  });

  it("stays with its holder if nobody asks for it", async () => {
    const room = new Room();
    const held = room.enter("daemon", { handsOver: true }).hold(async ({ wanted }) => {
      await room.time.sleep(10 * TTL);
      return wanted.aborted;
    });
    expect(await held).toBe(false);
  });

  it("is LEASE_HELD if the holder doesn't end in time, and nobody asks for it any more", async () => {
    const room = new Room();
    const { ended } = await aDaemonAtWork(room, 10 * TTL);
    const refused = code(room.enter("command").hold(async () => "in"));
    await room.time.sleep(CALL + 33 * SECOND);
    expect(room.state.requests.size).toBe(0);
    expect(await refused).toBe("LEASE_HELD");
    expect(room.time.elapsed).toBeGreaterThan(CALL + 2 * SECOND);
    expect(room.time.elapsed).toBeLessThan(CALL + TTL);
    await ended;
  });

  it("is asked for no longer once the command is told to stop", async () => {
    const room = new Room();
    await aDaemonAtWork(room, 5 * TTL);
    const stopping = new AbortController();
    const waiting = code(room.enter("command", {}, stopping.signal).hold(async () => "in"));
    await room.time.sleep(SECOND);
    expect(room.state.requests.size).toBe(1);
    stopping.abort();
    expect(await waiting).toBe("INTERRUPTED");
    expect(room.state.requests.size).toBe(0);
  });

  it("is asked for by no other daemon", async () => {
    const room = new Room();
    const { ended } = await aDaemonAtWork(room);
    const standby = room.enter("standby", { handsOver: true });
    expect(await code(standby.hold(async () => "in"))).toBe("LEASE_HELD");
    expect(room.state.requests.size).toBe(0);
    expect(await room.enter("command").hold(async () => "in")).toBe("in");
    await ended;
  });

  it("is handed over although the ledger was out of reach for a while", async () => {
    const room = new Room();
    const { ended } = await aDaemonAtWork(room);
    room.outage = true;
    await room.time.sleep(3 * SECOND);
    room.outage = false;
    expect(await room.enter("command").hold(async () => "in")).toBe("in");
    expect(await ended).toBe("LEASE_HANDED_OVER");
  });
});

describe("a daemon that has handed the lease over", () => {
  it("comes after every command that asks for the lease", async () => {
    const room = new Room();
    const { ended } = await aDaemonAtWork(room, SECOND);
    const order: string[] = [];
    const command = (name: string) =>
      room.enter(name).hold(async () => {
        order.push(name);
        await room.time.sleep(3 * SECOND);
      });
    const commands = [command("a"), command("b"), command("c")];
    await ended;
    await room.enter("daemon", { handsOver: true }).hold(async () => void order.push("daemon"));
    await Promise.all(commands);
    expect(order.toSorted()).toEqual(["a", "b", "c", "daemon"]);
    expect(order.at(-1)).toBe("daemon");
  });

  it("waits for a command that has died no longer than the command would have waited", async () => {
    const room = new Room();
    const { ended } = await aDaemonAtWork(room, SECOND);
    const command = room.enter("command");
    void command.hold(async () => "in");
    await room.time.sleep(1);
    expect(room.state.requests.size).toBe(1);
    command.instance.kill();
    await ended;
    expect(await room.enter("daemon", { handsOver: true }).hold(async () => "in")).toBe("in");
    expect(room.time.elapsed).toBeLessThan(CALL + 33 * SECOND);
    expect(room.state.requests.size).toBe(0);
  });

  it("is LEASE_HELD if somebody asks for the lease without end", async () => {
    const room = new Room();
    room.state.requests.set("for ever", {
      user_group_id: null,
      requester: "host-a pid 7",
      expiresAt: new Date(8.64e15),
    });
    const refused = room.enter("daemon", { handsOver: true }).hold(async () => "in");
    await expect(refused).rejects.toMatchObject({ code: "LEASE_HELD", message: /host-a pid 7/ });
  });
});
