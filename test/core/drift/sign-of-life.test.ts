import { expect, test } from "vitest";
import { msUntilAsked } from "../../../src/core/drift/refresh.ts";

const HOUR = 3_600_000;
const NOW = new Date("2026-03-01T12:00:00Z");
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);

test.each<[string, boolean, Date | null, number, (Date | null)?]>([
  ["has answered just now", true, NOW, HOUR],
  ["answered a minute ago", true, ago(60_000), HOUR - 60_000],
  ["answered an hour ago", true, ago(HOUR), 0],
  ["answered days ago", true, ago(100 * HOUR), 0],
  ["answered nobody knows when", true, null, 0],
  ["will answer, by a clock that was ahead", true, ago(-1), 0],
  ["gave an unclear answer a minute ago", true, ago(2 * HOUR), HOUR - 60_000, ago(60_000)],
  ["gave an unclear answer an hour ago", true, ago(2 * HOUR), 0, ago(HOUR)],
  ["gave an unclear answer, by a clock that was ahead", true, ago(2 * HOUR), 0, ago(-1)],
  ["has never answered", false, null, Number.POSITIVE_INFINITY],
])("a service that %s is asked in time", (_, isKnown, answeredAt, ms, unclearAt = null) => {
  expect(msUntilAsked({ isKnown, answeredAt }, unclearAt, NOW)).toBe(ms);
});
