import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { SecretStoreFailure } from "../../../src/adapters/token-stores/secret-store.ts";
import { inParallel, StoreRetries } from "../../../src/adapters/token-stores/store-retries.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { rejection } from "../../contracts/collect.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const throttled = (retryAfterMs?: number) =>
  new SecretStoreFailure("throttled", "busy", "wait", retryAfterMs);
const passing = (retryAfterMs?: number) => new SecretStoreFailure("passing", "failed", "wait", retryAfterMs);

/** Calls fail with these in turn, and succeed from then on. */
function aPatience(...failures: readonly Error[]) {
  const time = new VirtualTime();
  const reported: Extract<RunEvent, { kind: "waiting" }>[] = [];
  const patience = new StoreRetries(new VirtualClock(time), (event) => {
    if (event.kind === "waiting") reported.push(event);
  });
  const begun: number[] = [];
  const call = async (): Promise<string> => {
    begun.push(time.elapsed);
    const failure = failures[begun.length - 1];
    if (failure) throw failure;
    return "done";
  };
  return { time, patience, begun, call, reported };
}

test("a store is left alone for as long as it asks for", async () => {
  const { patience, begun, call } = aPatience(throttled(3_000), throttled(9_000));
  expect(await patience.with(call)).toBe("done");
  expect(begun).toEqual([0, 3_000, 12_000]);
});

test.each([throttled, passing])(
  "what fails is tried again after longer and longer waits",
  async (failure) => {
    const { patience, begun, call } = aPatience(failure(), failure(), failure());
    await patience.with(call);
    const waits = begun.slice(1).map((at, n) => at - (begun[n] ?? 0));
    expect(waits).toHaveLength(3);
    expect(waits[0]).toBeGreaterThanOrEqual(250);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  },
);

test.each([
  ["throttled", throttled(5_000)],
  ["failing, and saying when to come back", passing(5_000)],
])("while a store is left alone, because it is %s, no other call to it begins", async (_, failure) => {
  const { time, patience, begun, call } = aPatience(failure);
  const first = patience.with(call);
  await time.sleep(1_000);
  await Promise.all([first, patience.with(call), patience.with(call)]);
  expect(begun).toEqual([0, 5_000, 5_000, 5_000]);
});

test("a call that failed in passing keeps no other one waiting", async () => {
  const { time, patience, begun, call } = aPatience(passing(), passing(), passing());
  const first = patience.with(call);
  await time.sleep(100);
  const others = [patience.with(async () => "other"), patience.with(async () => "other")];
  expect(await Promise.all(others)).toEqual(["other", "other"]);
  expect(time.elapsed).toBe(100);
  await first;
  expect(begun).toHaveLength(4);
});

test("a store that asks to wait is waited for, for ten minutes, and that is reported", async () => {
  const { time, patience, begun, call, reported } = aPatience(
    throttled(60_000),
    throttled(300_000),
    throttled(300_000),
  );
  expect(await rejection(patience.with(call))).toMatchObject({ problem: "throttled", message: "busy" });
  expect(begun).toEqual([0, 60_000, 360_000]);
  expect(time.elapsed).toBe(360_000);
  expect(reported.map(({ ms }) => ms)).toEqual([60_000, 300_000]);
});

test("a store that asks for more patience than there is says so to all who call it", async () => {
  const { time, patience, begun, call } = aPatience(throttled(60_000));
  const busy = { problem: "throttled", message: "busy", hint: "wait" };
  for (const longestWait of [30_000, 30_000])
    expect(await rejection(patience.with(call, { longestWait }))).toMatchObject(busy);
  expect(begun).toEqual([0]);
  await time.sleep(35_000);
  expect(await patience.with(call, { longestWait: 30_000 })).toBe("done");
  expect(begun).toEqual([0, 60_000]);
});

test("a call that fails again and again has failed after half a minute, however long it waited for its turn", async () => {
  const { time, patience, call } = aPatience(...Array.from({ length: 100 }, () => passing()));
  const before = Array.from({ length: 8 }, () => patience.with(() => time.sleep(60_000)));
  expect(await rejection(patience.with(call))).toMatchObject({ problem: "passing" });
  await Promise.all(before);
  expect(time.elapsed).toBeGreaterThan(75_000);
  expect(time.elapsed).toBeLessThanOrEqual(90_000);
});

test.each([throttled, passing])("nothing is tried again once the run is to end", async (failure) => {
  const { time, patience, begun, call } = aPatience(failure(20_000), failure(20_000));
  const ending = new AbortController();
  const calls = [
    patience.with(call, { signal: ending.signal }),
    patience.with(call, { signal: ending.signal }),
  ];
  const ended = Promise.all(calls.map(rejection));
  await time.sleep(1_000);
  ending.abort();
  expect(await ended).toMatchObject([{ problem: failure().problem }, { problem: failure().problem }]);
  expect(time.elapsed).toBe(1_000);
  expect(begun.length).toBeLessThanOrEqual(3);
});

test.each([
  new SecretStoreFailure("refused", "no room", "make room"),
  new SecretStoreFailure("unavailable", "no answer", "is it running?"),
  new TypeError("unforeseen"),
])("$message: that isn't tried again", async (failure) => {
  const { patience, begun, call } = aPatience(failure);
  expect(await rejection(patience.with(call))).toBe(failure);
  expect(begun).toHaveLength(1);
});

test("what needs several calls is done also where a quota lets few pass: fewer begin at a time after a throttle", async () => {
  const time = new VirtualTime();
  const patience = new StoreRetries(new VirtualClock(time));
  const QUOTA = 10;
  let passed = 0;
  const oneCall = async (): Promise<void> => {
    const second = Math.floor(time.elapsed / 1_000);
    await time.sleep(10);
    if (passed >= (second + 1) * QUOTA) throw throttled(1_000);
    passed = Math.max(passed, second * QUOTA) + 1;
  };
  const threeCalls = async (): Promise<string> => {
    for (let calls = 0; calls < 3; calls++) await oneCall();
    return "done";
  };
  const all = await Promise.all(Array.from({ length: 64 }, () => patience.with(threeCalls)));
  expect(new Set(all)).toEqual(new Set(["done"]));
  // Three calls each, of which ten pass in a second: not much more than that is wasted.
  expect(time.elapsed).toBeLessThan(120_000);
});

describe("inParallel", () => {
  test("fails with the first error, after the calls that had begun have ended, and begins no new ones", async () => {
    const begun: string[] = [];
    const ended: string[] = [];
    const work = async (item: string): Promise<void> => {
      begun.push(item);
      await turn();
      if (item === "b") throw new Error("the first");
      await turn();
      if (item === "c") throw new Error("the second");
      ended.push(item);
    };
    expect(await rejection(inParallel(["a", "b", "c", "d"], 3, work))).toMatchObject({
      message: "the first",
    });
    expect(begun).toEqual(["a", "b", "c"]);
    expect(ended).toEqual(["a"]);
  });
});
