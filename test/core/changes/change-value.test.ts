import { expect, test } from "vitest";
import { compareValues, isFarBeyond } from "../../../src/core/changes/change-value.ts";

test.each([
  ["-Infinity", "-10", "-9.5", "-9.45", "0", "0.07", "9", "10", "9223372036854775806", "9223372036854775807"],
  ["9", "10.25", "Infinity"],
  ["2026-03-01 11:59:59.9+00", "2026-03-01 12:00:00+00", "2026-03-01 12:00:00.000001+00"],
  ["2026-03-01 12:00:00", "2026-03-01 12:00:00.5", "2026-03-01 12:00:01"],
])("the values from %s on are ordered", (...ordered) => {
  for (const [n, one] of ordered.entries())
    for (const [m, other] of ordered.entries()) expect(compareValues(one, other)).toBe(Math.sign(n - m));
});

test.each([
  ["9223372036854775807", "12", true],
  ["Infinity", "12", true],
  ["1000", "12", false],
  ["2026-03-01 15:00:00", "2026-03-01 12:00:00.25", true],
  ["2026-03-01 12:09:00+00", "2026-03-01 12:00:00.25+00", false],
])("whether %s is far beyond %s: %s", (value, later, isFar) => {
  expect(isFarBeyond(value, later)).toBe(isFar);
});
