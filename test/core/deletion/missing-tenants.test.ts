import { expect, test } from "vitest";
import {
  isAlarming,
  recently,
  wentMissing,
  wentMissingText,
} from "../../../src/core/deletion/missing-tenants.ts";

const LIMIT = { count: 3, percent: 10 };

test.each([
  [3, 5, false],
  [4, 5, true],
  [10, 100, false],
  [11, 100, true],
])("%i of %i groups went missing: an alarm is %s", (count, owned, alarming) => {
  expect(isAlarming(wentMissing(count, owned, LIMIT))).toBe(alarming);
});

test("tenants count that went missing in the last 24 hours", () => {
  expect(recently(new Date("2026-03-02T10:00:00Z"))).toEqual(new Date("2026-03-01T10:00:00Z"));
});

test("the alarm names how many went missing, and how many may be removed", () => {
  expect(wentMissingText(wentMissing(5, 40, LIMIT))).toBe(
    "the tenants of 5 of 40 groups went missing within 24 hours; deletion.limit lets 4 go",
  );
});
