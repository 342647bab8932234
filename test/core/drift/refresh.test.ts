import { describe, expect, test } from "vitest";
import { describeHeldRefresh, msUntilAsked, refreshedBefore } from "../../../src/core/drift/refresh.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (ms: number): Date => new Date(Date.UTC(2026, 0, 1) + ms);

describe("the groups that a sync asks for by service.refresh", () => {
  test.each([HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY])(
    "are asked for before they are older, but not more often than they need be, with %i ms between two syncs",
    (intervalMs) => {
      let verified = 0;
      let asked = 0;
      for (let now = intervalMs; now <= 300 * DAY; now += intervalMs) {
        if (at(verified) < refreshedBefore(at(now), 7 * DAY, intervalMs)) {
          expect(now - verified).toBeLessThanOrEqual(Math.max(7 * DAY, intervalMs));
          verified = now;
          asked++;
        }
      }
      expect(asked).toBeLessThanOrEqual(300 / 5);
      expect(asked).toBeGreaterThanOrEqual(300 / 30);
    },
  );
});

const hold = { changed: 5, owned: 8, allowed: 1, approval: "abc" };
const GONE =
  "the refresh is held: 5 groups were gone at the service in 24 hours or had another token, and deletion.limit allows 1 of 8 groups";

test.each([
  [0, GONE],
  [1, `${GONE}; 1 group is not asked for`],
  [7, `${GONE}; 7 groups are not asked for`],
])(
  "a refresh that is held with %i groups left to ask for says why, and how many they are",
  (count, message) => {
    expect(describeHeldRefresh(hold, count)).toMatchObject({ code: "REFRESH_HELD", message, count });
  },
);

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
