import { expect, it } from "vitest";
import { longPause } from "../../../src/core/plan/read-history.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = new Date("2026-03-02T12:00:00Z");

/** Syncs of a minute each, with these pauses in minutes between them. The first pause ends now. */
function syncs(...pauses: number[]): { startedAt: Date; finishedAt: Date }[] {
  let next = NOW.getTime();
  return pauses.map((pause) => {
    const finishedAt = new Date(next - pause * MINUTE);
    next = finishedAt.getTime() - MINUTE;
    return { startedAt: new Date(next), finishedAt };
  });
}
const usual = (pause: number, count = 9): number[] => Array<number>(count).fill(pause);

it.each<[string, number[], number | null]>([
  ["a day after syncs each few minutes is long", [24 * 60, ...usual(4)], 24 * HOUR],
  ["an hour is long", [60, ...usual(4)], HOUR],
  ["less than an hour is not", [59, ...usual(4)], null],
  ["a day is not, after syncs each day", [24 * 60, ...usual(24 * 60)], null],
  ["a weekend is not, after earlier weekends", [72 * 60, ...usual(24 * 60, 8), 72 * 60], null],
  ["more than twice the longest pause is", [721, ...usual(5, 8), 360], 721 * MINUTE],
  ["twice the longest pause is not", [720, ...usual(5, 8), 360], null],
  ["none is, if nobody knows what is usual", [24 * 60, ...usual(4, 8)], null],
  ["a clock that was set back makes none", [-60, ...usual(4)], null],
])("%s", (_, pauses, expected) => {
  expect(longPause(NOW, syncs(...pauses))).toBe(expected);
});

it("counts from the end of a sync: one that takes long is no pause", () => {
  const [last, ...earlier] = syncs(4, ...usual(4));
  const long = { startedAt: new Date(NOW.getTime() - 9 * HOUR), finishedAt: last?.finishedAt ?? NOW };
  expect(longPause(NOW, [long, ...earlier])).toBeNull();
});

it("is none before the first sync", () => {
  expect(longPause(NOW, [])).toBeNull();
});
