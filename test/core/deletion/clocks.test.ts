import { expect, test } from "vitest";
import { clockDifference, clockLead } from "../../../src/core/plan/read-history.ts";

const MINUTE = 60_000;
const asked = new Date("2026-03-01T12:00:00Z");
/** How far the host is ahead if the database's clock was so many minutes ahead when it was asked. */
const lead = (databaseAhead: number, tookMinutes = 0): number | null => {
  const ms = clockLead({
    asked,
    tookMs: tookMinutes * MINUTE,
    answer: new Date(asked.getTime() + databaseAhead * MINUTE),
  });
  return ms === null ? null : ms / MINUTE;
};

test.each<[database: number, took: number, lead: number | null]>([
  [0, 0, null],
  [5, 0, null],
  [-5, 0, null],
  [6, 0, -6],
  [-6, 0, 6],
  [-26 * 60, 0, 26 * 60],
  // The database may have told its time at the beginning of a long answer, or at its end.
  [0, 10, null],
  [10, 10, null],
  [15, 10, null],
  [16, 10, -6],
  [-6, 10, 6],
])("a database %i minutes ahead, which answers within %i minutes", (database, took, expected) => {
  expect(lead(database, took)).toBe(expected);
});

test("says which clock is ahead", () => {
  expect(clockDifference(26 * 60 * MINUTE).message).toContain("is 26 h 0 min ahead of the clock");
  expect(clockDifference(-6 * MINUTE).message).toContain("is 6 min 0 s behind the clock");
});
