import { expect, it } from "vitest";
import { dueBefore, mayStart, type RotationPolicy } from "../../../src/core/rotation/rotation-policy.ts";

const policy = (overrides: Partial<RotationPolicy>): RotationPolicy => ({
  maxAgeMs: null,
  window: null,
  maxPerRun: null,
  concurrency: 1,
  ...overrides,
});
const now = new Date("2026-03-01T05:00:00Z");

it("a token is due once it is as old as rotation.max_age, and never by itself without one", () => {
  expect(dueBefore(policy({ maxAgeMs: 86_400_000 }), now)).toEqual(new Date("2026-02-28T05:00:00Z"));
  expect(dueBefore(policy({}), now)).toBeNull();
});

it("a rotation may start at any time, or within rotation.window alone", () => {
  expect(mayStart(policy({}), now)).toBe(true);
  expect(mayStart(policy({ window: { from: 120, to: 300, timeZone: "UTC" } }), now)).toBe(false);
  expect(mayStart(policy({ window: { from: 120, to: 301, timeZone: "UTC" } }), now)).toBe(true);
});
