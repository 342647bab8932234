import { expect, test } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";

test("time goes on, and never back", async () => {
  const [before, started] = [hostClock.now(), hostClock.monotonic()];
  await hostClock.sleep(1);
  expect(hostClock.now().getTime()).toBeGreaterThanOrEqual(before.getTime());
  expect(hostClock.monotonic()).toBeGreaterThan(started);
});

test("a sleep ends with its signal, and does not reject", async () => {
  const stop = new AbortController();
  const sleeping = hostClock.sleep(600_000, stop.signal);
  stop.abort();
  await expect(sleeping).resolves.toBeUndefined();
  await expect(hostClock.sleep(600_000, stop.signal)).resolves.toBeUndefined();
});

test("chance is at least 0 and less than 1, and not always the same", () => {
  const drawn = Array.from({ length: 1000 }, () => hostClock.random());
  expect(drawn.every((number) => number >= 0 && number < 1)).toBe(true);
  expect(new Set(drawn).size).toBeGreaterThan(1);
});

test("lets any number of sleepers wait on one signal, wakes them together, and warns of nothing", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  try {
    const stopping = new AbortController();
    const sleepers = Array.from({ length: 50 }, () => hostClock.sleep(3_600_000, stopping.signal));
    stopping.abort();
    await Promise.all(sleepers);
    // Warnings come a tick later.
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", note);
  }
});
