import { expect, test } from "vitest";
import { msUntilAsked } from "../../../src/core/drift/sign-of-life.ts";

const HOUR = 3_600_000;
const NOW = new Date("2026-03-01T12:00:00Z");
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);

test.each<[string, boolean, Date | null, number]>([
  ["has answered just now", true, NOW, HOUR],
  ["answered a minute ago", true, ago(60_000), HOUR - 60_000],
  ["answered an hour ago", true, ago(HOUR), 0],
  ["answered days ago", true, ago(100 * HOUR), 0],
  ["answered nobody knows when", true, null, 0],
  ["will answer, by a clock that was ahead", true, ago(-1), 0],
  ["has never answered", false, null, Number.POSITIVE_INFINITY],
])("a service that %s is asked in time", (_, isKnown, answeredAt, ms) => {
  expect(msUntilAsked({ isKnown, answeredAt }, NOW)).toBe(ms);
});
