import { expect, it } from "vitest";
import { type ClockReading, msSince } from "../../../src/engine/lease/elapsed-time.ts";
import type { Clock } from "../../../src/ports/clock.ts";

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
