import { expect, test } from "vitest";
import { NextSync } from "../../src/daemon/next-sync.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";

/** A daemon whose syncs take as long as given, and that is always told that something has changed. */
function begun(tookMs: number) {
  const clock = new VirtualClock(new VirtualTime());
  const stop = new AbortController();
  /** When syncs have begun, in milliseconds. */
  const times: number[] = [];
  const next = new NextSync(clock, stop.signal, () => void sync());
  const sync = async (): Promise<void> => {
    next.begins();
    times.push(clock.monotonic());
    next.want(false);
    await clock.sleep(tookMs);
    next.runEnded(tookMs);
  };
  next.want(true);
  const pausesIn = async (ms: number): Promise<number[]> => {
    times.splice(0);
    await clock.sleep(ms);
    return times.slice(1).map((time, n) => time - (times[n] ?? 0) - tookMs);
  };
  return { next, pausesIn };
}

test("a few syncs that notices ask for begin soon, and then one in half a minute", async () => {
  const { next, pausesIn } = begun(100);
  const pauses = await pausesIn(180_000);
  expect(pauses.slice(0, 4)).toEqual([1_000, 1_000, 1_000, 1_000]);
  expect(pauses.slice(4).every((ms) => ms > 25_000 && ms <= 30_000)).toBe(true);
  next.tryAgain();
  expect(await pausesIn(10_000)).toEqual([1_000, 1_000, 1_000, 1_000]);
});

test("a pause is as long as the last sync took", async () => {
  const { pausesIn } = begun(60_000);
  expect(await pausesIn(500_000)).toEqual([60_000, 60_000, 60_000, 60_000]);
});

test("a sync that is wanted while single tenants are served begins soon, and ends that", async () => {
  const clock = new VirtualClock(new VirtualTime());
  let begun = 0;
  const next = new NextSync(clock, new AbortController().signal, () => void begun++);
  const due = next.begins();
  next.runEnded(100);
  next.want(false);
  await clock.sleep(1_000);
  expect([due.aborted, begun]).toEqual([true, 1]);
});
