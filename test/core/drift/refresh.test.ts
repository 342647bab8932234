import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  describeHeldRefresh,
  msUntilAsked,
  refreshShare,
  syncIntervalMs,
} from "../../../src/core/drift/refresh.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (ms: number): Date => new Date(Date.UTC(2026, 0, 1) + ms);

/** Plays syncs in this interval, and tells how old the answer of each group became at most, and how many each sync asked for. */
function play({ groups, intervalMs, everyMs, forMs, verified = 0 }: Record<string, number> & object): {
  oldest: number;
  asked: number[];
} {
  const times = Array.from({ length: groups ?? 0 }, () => verified ?? 0);
  const asked: number[] = [];
  let oldest = 0;
  const began: Date[] = [];
  for (let now = intervalMs ?? 1; now <= (forMs ?? 0); now += intervalMs ?? 1) {
    const late = times.filter((time) => time < now - (everyMs ?? 0)).length;
    const state = {
      now: at(now),
      earlier: began.slice(0, 2),
      everyMs: everyMs ?? 0,
      groups: times.length,
      late,
    };
    const share = refreshShare(state);
    began.unshift(at(now));
    for (const time of times.splice(0, share)) {
      oldest = Math.max(oldest, now - time);
      times.push(now);
    }
    asked.push(share);
  }
  return { oldest: Math.max(oldest, ...times.map((time) => (forMs ?? 0) - time)), asked };
}

describe("the share of one sync", () => {
  test.each([
    { groups: 1, intervalMs: HOUR },
    { groups: 10, intervalMs: HOUR },
    { groups: 1_000, intervalMs: HOUR },
    { groups: 1_000, intervalMs: 12 * HOUR },
  ])("lets no group of $groups become older than 7 days, and spreads them evenly, %o", (scale) => {
    const { oldest, asked } = play({ ...scale, everyMs: 7 * DAY, forMs: 30 * DAY });
    expect(oldest).toBeLessThanOrEqual(7 * DAY);
    const even = (scale.groups * scale.intervalMs) / (0.9 * 7 * DAY);
    expect(Math.max(...asked)).toBeLessThanOrEqual(Math.ceil(even));
    expect(asked.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual((30 / 6.3) * scale.groups + 1);
  });

  test("is twice as large while groups are late, and never all of them at once", () => {
    const { asked } = play({
      groups: 1_000,
      intervalMs: HOUR,
      everyMs: 7 * DAY,
      forMs: 2 * DAY,
      verified: -90 * DAY,
    });
    expect(Math.max(...asked)).toBeLessThanOrEqual(14);
    expect(Math.max(...asked)).toBeGreaterThan(11);
  });

  test("is nothing in a first sync, whose interval nobody knows", () => {
    expect(refreshShare({ now: at(0), earlier: [], everyMs: DAY, groups: 9, late: 9 })).toBe(0);
  });

  test("is never more than all groups, nor less than none", () => {
    fc.assert(
      fc.property(
        fc.nat(10_000),
        fc.nat(90 * DAY),
        fc.nat(90 * DAY),
        fc.integer({ min: HOUR, max: 90 * DAY }),
        (groups, a, b, everyMs) => {
          const share = refreshShare({ now: at(a), earlier: [at(a - b)], everyMs, groups, late: groups });
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(groups);
        },
      ),
    );
  });
});

test("the time between two syncs is the shorter one of the last two, so an outage doesn't count", () => {
  expect(syncIntervalMs(at(3 * DAY), [at(HOUR), at(0)])).toBe(HOUR);
  expect(syncIntervalMs(at(3 * HOUR), [at(HOUR)])).toBe(2 * HOUR);
  expect(syncIntervalMs(at(0), [at(HOUR)])).toBe(0);
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
