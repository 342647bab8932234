import { expect, test } from "vitest";
import { SyncPace } from "../../src/daemon/next-sync.ts";

/** How long each of these syncs waits that are wanted `ms` after the one before it, and that take as long as given. */
function pauses(pace: SyncPace, now: { at: number }, wantedAfter: readonly number[], tookMs = 100): number[] {
  return wantedAfter.map((ms) => {
    now.at += ms;
    pace.wanted(now.at);
    const begins = Math.max(now.at, pace.earliest);
    const pause = begins - now.at;
    now.at = begins + tookMs;
    pace.begins(true);
    pace.ended(now.at, tookMs);
    return pause;
  });
}

const always = Array<number>(8).fill(0);

test("the first sync that a notice asks for begins at once, and the pauses double while notices go on asking", () => {
  const expected = [0, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];
  expect(pauses(new SyncPace(), { at: 0 }, always)).toEqual(expected);
});

test("a pause is as long as the last sync took, and no longer than half a minute if that was less", () => {
  expect(pauses(new SyncPace(), { at: 0 }, always, 10_000).slice(0, 4)).toEqual([0, 20_000, 30_000, 30_000]);
  expect(pauses(new SyncPace(), { at: 0 }, always, 60_000).slice(0, 4)).toEqual([0, 60_000, 60_000, 60_000]);
});

test("after half a minute without a notice, or once the config is another, the pauses are short again", () => {
  const pace = new SyncPace();
  const now = { at: 0 };
  pauses(pace, now, always);
  expect(pauses(pace, now, [30_000, 0, 0])).toEqual([0, 2_000, 4_000]);
  pace.calm();
  expect(pauses(pace, now, [0])).toEqual([1_000]);
});

test("notices during a pause keep the pauses long, and syncs on schedule don't", () => {
  const pace = new SyncPace();
  const now = { at: 0 };
  const onSchedule = (): void => {
    pace.begins(false);
    pace.ended(now.at, 100);
  };
  pauses(pace, now, always);
  for (let n = 0; n < 10; n++) {
    now.at += 5_000;
    pace.wanted(now.at);
  }
  onSchedule();
  expect(pace.earliest).toBe(now.at + 30_000);
  now.at += 3_600_000;
  onSchedule();
  expect(pauses(pace, now, [0])).toEqual([1_000]);
});
