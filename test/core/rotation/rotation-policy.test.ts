import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  dueBefore,
  isWithin,
  mayStart,
  parseDailyWindow,
  type RotationPolicy,
} from "../../../src/core/rotation/rotation-policy.ts";

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

describe("a daily window", () => {
  it.each([
    ["02:00-05:00", { from: 120, to: 300 }],
    ["22:30 - 04:00", { from: 1350, to: 240 }],
    ["00:00-23:59", { from: 0, to: 1439 }],
  ])("is written %s", (text, window) => {
    expect(parseDailyWindow(text)).toEqual(window);
  });

  it.each([
    "",
    "02:00",
    "2:00-5:00",
    "02:00-24:00",
    "02:60-03:00",
    "02:00-02:00",
    "02:00-03:00-04:00",
    "a-b",
    "102:00-05:00",
    "02:00-05:000",
  ])("is not written %j", (text) => {
    expect(parseDailyWindow(text)).toBeUndefined();
  });

  it.each([
    ["2026-03-01T01:59:59Z", false],
    ["2026-03-01T02:00:00Z", true],
    ["2026-03-01T04:59:59Z", true],
    ["2026-03-01T05:00:00Z", false],
  ])("from 02:00 to 05:00 holds %s: %s", (time, within) => {
    expect(isWithin({ from: 120, to: 300, timeZone: "UTC" }, new Date(time))).toBe(within);
  });

  it.each([
    ["2026-03-01T23:59:00Z", true],
    ["2026-03-01T00:00:00Z", true],
    ["2026-03-01T03:59:00Z", true],
    ["2026-03-01T04:00:00Z", false],
    ["2026-03-01T22:29:00Z", false],
    ["2026-03-01T22:30:00Z", true],
  ])("from 22:30 to 04:00 spans midnight and holds %s: %s", (time, within) => {
    expect(isWithin({ from: 1350, to: 240, timeZone: "UTC" }, new Date(time))).toBe(within);
  });

  it("goes by the wall clock of its time zone, summer and winter", () => {
    const window = { from: 120, to: 300, timeZone: "Europe/Berlin" };
    expect(isWithin(window, new Date("2026-01-15T01:30:00Z"))).toBe(true);
    expect(isWithin(window, new Date("2026-07-15T00:30:00Z"))).toBe(true);
    expect(isWithin(window, new Date("2026-07-15T03:30:00Z"))).toBe(false);
  });

  it("and the rest of the day leave no minute out and share none", () => {
    const minute = fc.integer({ min: 0, max: 1439 });
    const time = fc.date({ min: new Date("2020-01-01"), max: new Date("2040-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(minute, minute, time, (from, to, now) => {
        fc.pre(from !== to);
        const window = { from, to, timeZone: "America/New_York" };
        expect(isWithin(window, now)).not.toBe(isWithin({ ...window, from: to, to: from }, now));
      }),
    );
  });
});
