import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refreshShare, syncIntervalMs } from "../../../src/core/drift/refresh.ts";

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
