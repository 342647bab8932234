import { expect, it, test } from "vitest";
import { parseDuration, quantities, quantity } from "../../../src/core/text/quantity.ts";

test.each([
  [0, "0 groups"],
  [1, "1 group"],
  [2, "2 groups"],
])("%i is %s", (count, text) => {
  expect(quantity(count, "group")).toBe(text);
});

test("a list leaves out what there is none of", () => {
  const counts = [
    [2, "deletion"],
    [0, "update"],
    [1, "replacement"],
  ] as const;
  expect(quantities(counts)).toBe("2 deletions and 1 replacement");
});

it.each([
  ["500ms", 500],
  ["15s", 15_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["90d", 7_776_000_000],
  ["0s", 0],
  ["0", 0],
])("%s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(["", "15", "00", "-0", "1 day", "1.5h", "-1s", "1w", "1h30m", " 1s", "1S", "99999999999999d"])(
  "%j is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);
