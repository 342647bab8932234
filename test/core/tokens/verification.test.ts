import { expect, test } from "vitest";
import { isVerificationDue } from "../../../src/core/tokens/verification.ts";

const NOON = new Date("2026-03-01T12:00:00Z");
const HOUR = 3_600_000;
const ago = (ms: number): Date => new Date(NOON.getTime() - ms);

test.each([
  ["was never verified", null, true],
  ["was verified less than the period ago", ago(HOUR - 1), false],
  ["was verified a period ago", ago(HOUR), true],
  ["was verified in the future, by a clock that was wrong", ago(-1), true],
])("of a token store that %s", (_, verifiedAt, isDue) => {
  expect(isVerificationDue(HOUR, verifiedAt, NOON)).toBe(isDue);
});
