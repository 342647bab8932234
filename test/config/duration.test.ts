import { expect, it } from "vitest";
import { parseDuration, parseRateLimit } from "../../src/config/duration.ts";

it.each([
  ["500ms", 500],
  ["15s", 15_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["90d", 7_776_000_000],
  ["0s", 0],
])("%s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(["", "15", "1 day", "1.5h", "-1s", "1w", "1h30m", " 1s", "1S", "99999999999999d"])(
  "%j is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

it.each([
  ["3/s", { count: 3, perMs: 1000 }],
  ["170/min", { count: 170, perMs: 60_000 }],
  ["9000/h", { count: 9000, perMs: 3_600_000 }],
])("%s is a rate", (text, rate) => {
  expect(parseRateLimit(text)).toEqual(rate);
});

it.each(["", "170", "0/s", "170/m", "1.5/s", "170 / min", "/s"])("%j is no rate", (text) => {
  expect(parseRateLimit(text)).toBeUndefined();
});
