import { expect, test } from "vitest";
import { Patience } from "../../../src/adapters/token-stores/patience.ts";
import { SecretStoreFailure } from "../../../src/adapters/token-stores/secret-store.ts";
import { rejection } from "../../contracts/collect.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const slow = (retryAfterMs?: number) => new SecretStoreFailure("slow", "busy", "wait", retryAfterMs);

/** Calls fail with these in turn, and succeed from then on. */
function aPatience(...failures: readonly Error[]) {
  const time = new VirtualTime();
  const patience = new Patience(new VirtualClock(time));
  const begun: number[] = [];
  const call = async (): Promise<string> => {
    begun.push(time.elapsed);
    const failure = failures[begun.length - 1];
    if (failure) throw failure;
    return "done";
  };
  return { time, patience, begun, call };
}

test("a call that succeeds is made once, and at once", async () => {
  const { patience, begun, call } = aPatience();
  expect(await patience.with(call)).toBe("done");
  expect(begun).toEqual([0]);
});

test("a store is left alone for as long as it asks for", async () => {
  const { patience, begun, call } = aPatience(slow(3_000), slow(20_000));
  expect(await patience.with(call)).toBe("done");
  expect(begun).toEqual([0, 3_000, 23_000]);
});

test("a store that doesn't say how long is left alone for longer and longer", async () => {
  const { patience, begun, call } = aPatience(slow(), slow(), slow());
  await patience.with(call);
  const waits = begun.slice(1).map((at, n) => at - (begun[n] ?? 0));
  expect(waits).toHaveLength(3);
  expect(waits[0]).toBeGreaterThanOrEqual(250);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
});

test("while a store is left alone, no other call to it begins", async () => {
  const { time, patience, begun, call } = aPatience(slow(5_000));
  const first = patience.with(call);
  await time.sleep(1_000);
  await Promise.all([first, patience.with(call), patience.with(call)]);
  expect(begun).toEqual([0, 5_000, 5_000, 5_000]);
});

test("a store that asks for too much isn't available", async () => {
  const { patience, begun, call } = aPatience(slow(60_001));
  expect(await rejection(patience.with(call))).toMatchObject({
    problem: "unavailable",
    message: "busy",
    hint: "wait",
  });
  expect(begun).toEqual([0]);
});

test("a store that asks again and again isn't available after half a minute", async () => {
  const { time, patience, call } = aPatience(...Array.from({ length: 100 }, () => slow()));
  expect(await rejection(patience.with(call))).toMatchObject({ problem: "unavailable" });
  expect(time.elapsed).toBeGreaterThan(15_000);
  expect(time.elapsed).toBeLessThanOrEqual(30_000);
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

test("calls with one transaction open have one patience: what takes longer isn't available", async () => {
  const { time, patience, begun, call } = aPatience(slow(20_000), slow(20_000));
  const first = rejection(patience.with(call, 0));
  await time.sleep(31_000);
  expect(await rejection(patience.with(call, 0))).toMatchObject({ problem: "unavailable" });
  expect(await first).toMatchObject({ problem: "unavailable" });
  expect(begun).toEqual([0, 20_000]);
});
